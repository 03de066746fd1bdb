package inspect

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/pprof"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// Handler serves /debug/pipeline, /debug/key, /debug/events and /debug/pprof. It
// guards nothing: see package guard.
func (i *Inspector) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /debug/key", i.serveKey)
	mux.HandleFunc("GET /debug/events", i.serveEvents)
	for path, file := range page() {
		mux.Handle("GET "+path, file)
	}
	mux.Handle("GET /{$}", http.RedirectHandler("debug/pipeline", http.StatusFound))
	mux.Handle("GET /debug/{$}", http.RedirectHandler("pipeline", http.StatusFound))
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return mux
}

// serveKey answers why a key was reconciled: in JSON, or as text where only that
// is accepted.
func (i *Inspector) serveKey(w http.ResponseWriter, r *http.Request) {
	c, key, code, err := i.asked(r)
	if err != nil {
		http.Error(w, err.Error(), code)
		return
	}
	report, known := i.Explain(c, key)
	if !known {
		http.Error(w, fmt.Sprintf("parameter key=%s: controller %s knows no such key: it is neither in the cache of %s nor in the queue, and nothing is remembered of it", key, c.name, c.resource), http.StatusNotFound)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	if wantsText(r.Header.Get("Accept")) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		report.WriteText(w) //nolint:errcheck // who asked has gone
		return
	}
	text, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		http.Error(w, fmt.Sprintf("encode the report: %v", err), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(append(text, '\n')) //nolint:errcheck // who asked has gone
}

// asked is what the parameters name; the error names the one that is wrong.
func (i *Inspector) asked(r *http.Request) (c *Controller, key types.NamespacedName, code int, err error) {
	name := r.URL.Query().Get("controller")
	if name == "" {
		return nil, key, http.StatusBadRequest, fmt.Errorf("parameter controller is missing; it is one of: %s", strings.Join(i.controllerNames(), ", "))
	}
	c, ok := i.controller(name)
	if !ok {
		return nil, key, http.StatusNotFound, fmt.Errorf("parameter controller=%s: there is none of that name; there are: %s", name, strings.Join(i.controllerNames(), ", "))
	}
	given := r.URL.Query().Get("key")
	namespace, name, ok := strings.Cut(given, "/")
	switch {
	case given == "":
		return nil, key, http.StatusBadRequest, fmt.Errorf("parameter key is missing; it is namespace/name")
	case !ok || namespace == "" || name == "" || strings.Contains(name, "/"):
		return nil, key, http.StatusBadRequest, fmt.Errorf("parameter key=%s: it must be namespace/name", given)
	}
	return c, types.NamespacedName{Namespace: namespace, Name: name}, http.StatusOK, nil
}

// wantsText tells whether text is asked for and JSON is not.
func wantsText(accept string) bool {
	return strings.Contains(accept, "text/plain") && !strings.Contains(accept, "json")
}
