package lint

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

// Pages are read by people who then look for what they have read about. So what a page
// names is there: files that it links, headings, names of Go, metrics, and commands;
// and what it quotes is what stands there.

var (
	fenced   = regexp.MustCompile("(?ms)^```([^\n]*)\n(.*?)^```$")
	linked   = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	ticked   = regexp.MustCompile("`([^`\n]+)`")
	goName   = regexp.MustCompile(`^([a-z]+)\.([A-Z]\w*)(?:\[\w+\])?(?:\.([A-Z]\w*))?$`)
	snake    = regexp.MustCompile(`\b([a-z]+)_[a-z_]*\*?`)
	makes    = regexp.MustCompile(`^make(?: [A-Z]+=\S+)* ([a-z][a-z0-9-]*)`)
	isHeader = regexp.MustCompile(`(?m)^#+ (.*)$`)
)

// prose is a page without its blocks of code.
func prose(text string) string { return fenced.ReplaceAllString(text, "") }

func TestLinksOfPagesLeadSomewhere(t *testing.T) {
	pages := sources(t, ".md")
	n := 0
	for name, text := range pages {
		for _, link := range linked.FindAllStringSubmatch(ticked.ReplaceAllStringFunc(prose(text), unlinked), -1) {
			file, anchor, _ := strings.Cut(link[1], "#")
			if strings.Contains(file, "://") {
				continue
			}
			n++
			target := name
			if file != "" {
				target = path.Join(path.Dir(name), file)
			}
			if _, err := os.Stat("../../" + target); err != nil {
				t.Errorf("%s: there is no %s", name, link[1])
			}
			if anchor != "" && strings.HasSuffix(target, ".md") && !anchors(pages[target])[anchor] {
				t.Errorf("%s: %s has no heading #%s", name, target, anchor)
			}
		}
	}
	if n < 50 {
		t.Errorf("only %d links were found", n)
	}
}

// unlinked is a code span without what would be a link in it: Read[T](x).
func unlinked(span string) string { return strings.ReplaceAll(span, "](", "] (") }

// anchors are those that headings have on the web.
func anchors(page string) map[string]bool {
	found := map[string]bool{}
	for _, heading := range isHeader.FindAllStringSubmatch(prose(page), -1) {
		anchor := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r > 0x7f:
				return r
			}
			return -1
		}, strings.ToLower(heading[1]))
		found[anchor] = true
	}
	return found
}

// A block whose first line names a file, as ```go fifo/pop.go, quotes it. A line with
// nothing but … stands for what is left out.
func TestQuotesAreTrue(t *testing.T) {
	n := 0
	for name, text := range sources(t, ".md") {
		for _, block := range fenced.FindAllStringSubmatch(text, -1) {
			words := strings.Fields(block[1])
			if len(words) < 2 {
				continue
			}
			n++
			quoted, err := os.ReadFile("../../" + words[1])
			if err != nil {
				t.Errorf("%s quotes %s: %v", name, words[1], err)
				continue
			}
			rest := string(quoted)
			for part := range strings.SplitSeq(block[2], "\n…\n") {
				_, after, found := strings.Cut(rest, strings.Trim(part, "\n"))
				if !found {
					t.Errorf("%s quotes %s, which does not say (any more):\n%s", name, words[1], part)
				}
				rest = after
			}
		}
	}
	if n == 0 {
		t.Error("no quotes were found")
	}
}

// declarations are the exported names of each package, by the package's own name:
// New, Queue, Queue.Add, Config.Name.
func declarations(t *testing.T) map[string]map[string]bool {
	t.Helper()
	of := map[string]map[string]bool{}
	for name, text := range sources(t, ".go") {
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		in := strings.TrimSuffix(file.Name.Name, "_test")
		if of[in] == nil {
			of[in] = map[string]bool{}
		}
		for _, d := range file.Decls {
			declare(of[in], d)
		}
	}
	return of
}

func declare(names map[string]bool, d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			names[d.Name.Name] = true
		} else {
			names[receiver(d.Recv.List[0].Type)+"."+d.Name.Name] = true
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.ValueSpec:
				for _, n := range s.Names {
					names[n.Name] = true
				}
			case *ast.TypeSpec:
				names[s.Name.Name] = true
				members(names, s)
			}
		}
	}
}

func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	default:
		return ""
	}
}

func members(names map[string]bool, s *ast.TypeSpec) {
	var fields *ast.FieldList
	switch typ := s.Type.(type) {
	case *ast.StructType:
		fields = typ.Fields
	case *ast.InterfaceType:
		fields = typ.Methods
	default:
		return
	}
	for _, f := range fields.List {
		for _, n := range f.Names {
			names[s.Name.Name+"."+n.Name] = true
		}
		if len(f.Names) == 0 { // embedded: what it brings is not looked at
			names[s.Name.Name+".*"] = true
		}
	}
}

func TestNamesInPagesAreThere(t *testing.T) {
	of := declarations(t)
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for name, text := range sources(t, ".md") {
		for _, tick := range ticked.FindAllStringSubmatch(prose(text), -1) {
			word := tick[1]
			if m := goName.FindStringSubmatch(word); m != nil && of[m[1]] != nil {
				found++
				if whole := strings.TrimSuffix(m[2]+"."+m[3], "."); !of[m[1]][whole] && !of[m[1]][m[2]+".*"] {
					t.Errorf("%s: package %s has no %s", name, m[1], whole)
				}
			}
			if m := makes.FindStringSubmatch(word); m != nil && !strings.Contains(string(makefile), "\n"+m[1]+":") {
				t.Errorf("%s: make has no %s", name, m[1])
			}
		}
	}
	if found < 50 {
		t.Errorf("only %d names of Go were found", found)
	}
}

// exposed are the names of all metrics, from the golden file that they are held to, and
// with what they begin: informer, workqueue.
func exposed(t *testing.T) (names, beginnings map[string]bool) {
	t.Helper()
	golden, err := os.ReadFile("../metrics/testdata/series.txt")
	if err != nil {
		t.Fatal(err)
	}
	names, beginnings = map[string]bool{}, map[string]bool{}
	for line := range strings.Lines(string(golden)) {
		name := snake.FindStringSubmatch(line)
		names[name[0]], beginnings[name[1]] = true, true
		if histogram, is := strings.CutSuffix(name[0], "_count"); is {
			names[histogram], names[histogram+"_bucket"] = true, true
		}
	}
	return names, beginnings
}

// What a page calls as a metric is called is one: workqueue_depth, wherever in the line
// and in what query. With a star it stands for those that begin so.
func TestMetricsInPagesAreExposed(t *testing.T) {
	names, beginnings := exposed(t)
	is := func(word string) bool {
		if begin, many := strings.CutSuffix(word, "*"); many {
			for name := range names {
				if strings.HasPrefix(name, begin) {
					return true
				}
			}
		}
		return names[word]
	}
	found := map[string]bool{}
	for page, text := range sources(t, ".md") {
		for _, tick := range ticked.FindAllStringSubmatch(prose(text), -1) {
			for _, word := range snake.FindAllStringSubmatch(tick[1], -1) {
				if !beginnings[word[1]] {
					continue
				}
				if found[word[0]] = true; !is(word[0]) {
					t.Errorf("%s: there is no metric %s", page, word[0])
				}
			}
		}
	}
	for name := range names {
		family := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_sum"), "_count")
		if !found[name] && !found[family] {
			t.Errorf("no page has %s", name)
		}
	}
}
