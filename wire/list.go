package wire

import (
	"errors"
	"fmt"
	"io"
)

// ListMeta is what a list says about itself.
type ListMeta struct {
	ResourceVersion    string
	Continue           string // the token of the next page; empty on the last one
	RemainingItemCount int64  // how many items the next pages have; 0 when the server does not say
}

// errNoList is the fault of an answer that is not a list, such as a Table.
var errNoList = errors.New("no items: the answer is not a list")

// List reads one page of a list as it arrives: item is called for each object
// before the next one is read, so what is held is one object and a read buffer,
// however long the list. That object is lent, and is item's until item returns:
// what is kept of it is its Own(), or its key, UID and resourceVersion. The
// list's own metadata may stand before the items or behind them; it is complete
// when List returns.
//
// An item that cannot be read comes as a *ScanError and no object. Its key
// still exists on the server: whoever counts it as vanished would delete it. If
// item returns an error, List stops and returns that error as it is. Otherwise
// an error means that the page is not complete: the source's,
// io.ErrUnexpectedEOF, ErrTooLarge, ErrFormat or a *SyntaxError.
//
// In protobuf a list must say what it is before it says what is in it; one whose
// kind does not name its items ("List") is refused.
//
// Items are normalised: where they lack kind and apiVersion (built-in kinds do)
// these are added from the list's, if it has named them by then.
func (s *Scanner) List(f Format, r io.Reader, item func(*Object, error) error) (ListMeta, error) {
	p := page{loan: loan{scanner: s}, meta: s.meta(), lex: lexer{feed: &feed{src: r}}, item: item}
	read := p.read
	switch f {
	case JSON:
	case Protobuf:
		read = p.readProtobuf
	default:
		return ListMeta{}, ErrFormat
	}
	if err := read(); err != nil {
		return ListMeta{}, err
	}
	return p.about, nil
}

// page is one list on its way.
type page struct {
	lex     lexer
	meta    meta
	loan    loan
	item    func(*Object, error) error
	stopped bool  // item has returned an error, which is now the lexer's
	left    int64 // in protobuf: bytes of the list that have not been read

	about            ListMeta
	kind, apiVersion string
	found            bool // there are items, if only an empty list of them
}

func (p *page) read() error {
	l := &p.lex
	if l.opens('{', "a list") {
		for more := l.enter('{'); more; more = l.next('{') {
			p.member()
		}
	}
	return p.end()
}

// end is what has become of a page that has been read.
func (p *page) end() error {
	l := &p.lex
	switch {
	case p.stopped:
		return l.err
	case l.err != nil:
		return fmt.Errorf("read list: %w", whole(l.err))
	case l.bad != nil:
		return fmt.Errorf("read list: %w", l.bad)
	case !p.found:
		return fmt.Errorf("read list of kind %q: %w", p.kind, errNoList)
	}
	return nil
}

func (p *page) member() {
	switch l := &p.lex; string(l.bytes(l.key())) {
	case "kind":
		p.string(&p.kind)
	case "apiVersion":
		p.string(&p.apiVersion)
	case "metadata":
		p.metadata()
	case "items":
		p.items()
	default:
		l.skip()
	}
}

// string takes a string of the list's own, which must not be a span: positions
// do not outlive the next item.
func (p *page) string(to *string) {
	var s span
	if p.lex.text(&s); p.lex.err == nil && s.to > 0 {
		*to = string(p.lex.bytes(s))
	}
}

func (p *page) metadata() {
	l := &p.lex
	if l.null() || !l.opens('{', "an object for metadata") {
		return
	}
	for more := l.enter('{'); more; more = l.next('{') {
		switch string(l.bytes(l.key())) {
		case "resourceVersion":
			p.string(&p.about.ResourceVersion)
		case "continue":
			p.string(&p.about.Continue)
		case "remainingItemCount":
			l.integer(&p.about.RemainingItemCount)
		default:
			l.skip()
		}
	}
}

func (p *page) items() {
	l := &p.lex
	p.found = true
	if l.null() || !l.opens('[', "a list for items") {
		return
	}
	bad := l.bad // of the list; what is wrong with an item is the item's
	kind := itemsOf(p.kind, p.apiVersion)
	for more := l.enter('['); more; more = l.next('[') {
		p.one(kind)
	}
	l.bad = bad
}

// one reads one item and hands it over.
func (p *page) one(kind typeMeta) {
	l := &p.lex
	l.data = l.feed.settle(l.pos, l.data[l.pos:])
	l.pos = 0
	l.begin()
	l.peek()
	from := l.pos
	if l.object(&p.meta); l.err != nil {
		return
	}
	if l.bad == nil && p.meta.name.to == p.meta.name.from {
		l.bad = errNameless
	}
	p.hand(p.loan.json(l, &p.meta, from, l.pos, kind))
}

// hand gives an item, or what was wrong with it, to whoever reads the list.
func (p *page) hand(o *Object, err error) {
	if err := p.item(o, err); err != nil {
		p.lex.err, p.stopped = err, true
	}
	p.loan.recall()
}
