package inspect

import (
	"bytes"
	_ "embed" // the page
	"net/http"
	"time"
)

//go:embed page/pipeline.html
var pageHTML []byte

//go:embed page/pipeline.css
var pageCSS []byte

//go:embed page/pipeline.js
var pageJS []byte

// page is the live page: three files, which name each other by relative paths, so
// that they work behind a proxy as well.
func page() map[string]http.Handler {
	return map[string]http.Handler{
		"/debug/pipeline":     file("text/html; charset=utf-8", pageHTML),
		"/debug/pipeline.css": file("text/css; charset=utf-8", pageCSS),
		"/debug/pipeline.js":  file("text/javascript; charset=utf-8", pageJS),
	}
}

// policy lets the page load what is served beside it, and nothing else: whatever
// an object is called, it cannot make a browser ask elsewhere.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

func file(kind string, content []byte) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Type", kind)
		header.Set("Content-Security-Policy", policy)
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Cache-Control", "no-cache")
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
	})
}
