package oracle

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// A script is what happens at a server, and to those who watch it.
type script struct {
	server kind
	ours   extras
	steps  []step
}

// extras are what ours can do and client-go cannot: turned on, they change
// nothing that shows.
type extras struct {
	Packed bool // what is not read for a second is packed
	Facets bool // the scan takes values out
}

// kind is what a server has, and what it can do.
type kind struct {
	behaviour

	Resource resource
}

// behaviour is what a server can do.
type behaviour struct {
	Born      int  // how many objects it has before anybody asks
	PageCap   int  // the most items of a page, whatever is asked for; 0: no pages
	WatchList bool // it streams lists
	Bookmarks bool // it sends a bookmark once a minute
}

// A step is one thing that happens.
type step struct {
	do  verb
	key types.NamespacedName // of put, remove, recreate, spoil, refuse
	how string               // of down: the kind of trouble; of wind: how many
}

type verb string

const (
	put      verb = "put"      // an object is made, or changed if it is there
	remove   verb = "remove"   // an object is deleted, if it is there
	recreate verb = "recreate" // an object is deleted and made anew under its name
	spoil    verb = "spoil"    // put, and the first event that tells of it cannot be read
	refuse   verb = "refuse"   // put, and the first transform that sees it refuses it
	wind     verb = "wind"     // so many changes happen that are on the tape
	bookmark verb = "bookmark" // all watches get a bookmark
	end      verb = "end"      // all watches end in good order
	tear     verb = "tear"     // all watches end within an event
	expire   verb = "expire"   // all watches end with an ERROR event, 410, and the history is forgotten
	early    verb = "early"    // watch-lists end before their bookmark from now on
	late     verb = "late"     // watch-lists end with their bookmark again
	forget   verb = "forget"   // continuations of lists expire
	compact  verb = "compact"  // the history is forgotten; watches that are open go on
	down     verb = "down"     // all watches break, and every request fails
	up       verb = "up"       // requests are answered again
	hold     verb = "hold"     // handlers stand still
	release  verb = "release"  // handlers go on
	moment   verb = "moment"   // a second passes
	settle   verb = "settle"   // time passes until all is well again on both sides
)

// tick passes after every step: long enough for an event to go all the way,
// shorter than any backoff.
const tick = 20 * time.Millisecond

// settling is longer than the longest pause of either side, which is client-go's:
// 30 s, and as much again of jitter; some more passes until all is well. It is
// no multiple of the 90 s after which ours cuts a watch that has said nothing.
const settling = 200 * time.Second

func (s step) String() string {
	words := []string{string(s.do)}
	if s.key.Name != "" {
		words = append(words, s.key.String())
	}
	return strings.Join(append(words, s.how), " ")
}

func (s script) String() string {
	lines := []string{fmt.Sprintf("%v: %+v, %+v", s.server.Resource, s.server.behaviour, s.ours)}
	for _, each := range s.steps {
		lines = append(lines, each.String())
	}
	return strings.Join(lines, "\n")
}

// capable is a server that can do all.
func capable(r resource) kind {
	return kind{behaviour{WatchList: true, Bookmarks: true}, r}
}

// read makes a script of one line, at a server that can do all.
func read(r resource, line string) script {
	s := script{server: capable(r)}
	for words := range strings.SplitSeq(line, ", ") {
		do, about, _ := strings.Cut(words, " ")
		each := step{do: verb(do)}
		if namespace, name, ok := strings.Cut(about, "/"); ok {
			each.key = types.NamespacedName{Namespace: namespace, Name: name}
		} else {
			each.how = about
		}
		s.steps = append(s.steps, each)
	}
	return s
}

// author writes scripts.
type author struct {
	*rand.Rand

	script

	left int // changes on the tape that have not happened
}

func newAuthor(seed uint64) *author {
	a := &author{Rand: rand.New(rand.NewPCG(seed, 3))}
	a.server.WatchList, a.server.Bookmarks = a.IntN(3) > 0, a.IntN(3) > 0
	a.ours = extras{Packed: a.IntN(8) == 0, Facets: a.IntN(2) == 0}
	return a
}

// write begins a script of objects that are made up.
func write(seed uint64) *author {
	a := newAuthor(seed)
	a.server.Resource = []func() resource{anything, anything, pods, podsInJSON}[a.IntN(4)]()
	a.server.Born, a.server.PageCap = a.IntN(9), a.IntN(4)
	if a.ours.Packed { // a dictionary is made of many objects
		a.server.Born, a.server.PageCap = 80+a.IntN(9), 20*a.IntN(4)
	}
	return a
}

// play begins a script of what is on a tape.
func play(seed uint64, r resource) *author {
	a := newAuthor(seed)
	a.server.Resource = r
	a.server.Born, a.server.PageCap = a.IntN(200), 10*a.IntN(4)
	a.left = len(r.tape.changes) - a.server.Born
	return a
}

func (a *author) add(verbs ...verb) {
	for _, v := range verbs {
		a.steps = append(a.steps, step{do: v})
	}
}

// changes are a few of them, each to an object of its own or to the same.
func (a *author) changes(n int) {
	if a.server.Resource.tape != nil {
		a.goOn(n)
		return
	}
	for range n {
		do := []verb{put, put, put, remove, recreate}[a.IntN(5)]
		a.steps = append(a.steps, step{do: do, key: a.name()})
	}
}

// goOn lets some of the tape happen, and at its end deletes: nobody has recorded
// how objects go.
func (a *author) goOn(n int) {
	if a.left <= 0 {
		for range n {
			changes := a.server.Resource.tape.changes
			a.steps = append(a.steps, step{do: remove, key: changes[a.IntN(len(changes))].key})
		}
		return
	}
	for range n {
		some := 1 + a.IntN(8)
		a.left -= some
		a.steps = append(a.steps, step{do: wind, how: strconv.Itoa(some)})
	}
}

func (a *author) name() types.NamespacedName {
	return types.NamespacedName{Namespace: string("ab"[a.IntN(2)]), Name: fmt.Sprint("o", a.IntN(5))}
}

func (a *author) down() {
	troubles := []string{"refused", "reset", "500", "503", "429"}
	a.steps = append(a.steps, step{do: down, how: troubles[a.IntN(len(troubles))]})
}

// orderly is a script in rounds. In each something goes wrong at most once, and
// then all settles. So both sides meet it in the same state.
func orderly(seed uint64) script {
	a := write(seed)
	if a.IntN(3) == 0 { // while the first list is on its way
		a.add(bookmark, forget)
	}
	a.changes(a.IntN(8))
	a.add(settle)
	for range 1 + a.IntN(4) {
		a.changes(a.IntN(4))
		a.fault()
		a.changes(a.IntN(4))
		a.add(settle)
	}
	return a.script
}

func (a *author) fault() {
	faults := 12
	if a.server.Resource.tape != nil {
		faults = 9 // the others are about objects that are made up
	}
	switch a.IntN(faults) {
	case 0:
		a.add(end)
	case 1:
		a.add(tear)
	case 2:
		a.add(expire)
	case 3:
		a.add(bookmark)
	case 4:
		a.away()
	case 5:
		a.away(compact)
	case 6: // the list that follows takes a while, if it has pages
		a.away(compact)
		a.changes(2)
		a.add(forget)
	case 7:
		a.add(hold)
		a.changes(1 + a.IntN(8))
		a.add(release)
	case 8: // a list that is a stream has no end
		a.add(early, expire, moment)
		if a.server.Resource.tape == nil { // else it is megabytes, all the time
			a.add(moment)
		}
		a.add(late)
	case 9: // a relist meets what waits
		a.holdOverRelist()
	case 10: // an object cannot be taken in
		a.steps = append(a.steps, step{do: []verb{spoil, refuse}[a.IntN(2)], key: a.name()})
	case 11: // nothing goes wrong
	}
}

// holdOverRelist is a list that finds gone what nobody has taken in yet. It is
// held for longer than it takes to list again.
func (a *author) holdOverRelist() {
	waits := a.name()
	a.add(hold)
	a.changes(1 + a.IntN(4))
	a.steps = append(a.steps, step{do: put, key: waits})
	a.down()
	a.steps = append(a.steps, step{do: remove, key: waits})
	a.changes(a.IntN(3))
	a.add(compact, up, moment, moment, moment, moment, moment, moment, release)
}

// away is a time without the server, in which things happen; the last of them
// before it is back are given.
func (a *author) away(last ...verb) {
	a.down()
	a.changes(a.IntN(6))
	for range a.IntN(4) {
		a.add(moment)
	}
	a.add(last...)
	a.add(up)
}

// taped is an orderly script of the whole of a tape.
func taped(seed uint64, r resource) script {
	a := play(seed, r)
	a.changes(a.IntN(8))
	a.add(settle)
	for a.left > 0 {
		a.changes(1 + a.IntN(10))
		a.fault()
		a.changes(1 + a.IntN(10))
		a.add(settle)
	}
	a.changes(1 + a.IntN(20))
	a.fault()
	a.changes(1 + a.IntN(20))
	a.add(settle)
	return a.script
}

// wild is a script in which all sorts of things happen all the time.
func wild(seed uint64) script {
	a := write(seed)
	if a.IntN(3) == 0 {
		a.add(bookmark, forget)
	}
	for range 10 + a.IntN(60) {
		switch a.IntN(12) {
		case 0:
			a.fault()
		case 1:
			a.add([]verb{end, tear, expire, forget, compact, bookmark}[a.IntN(6)])
		case 2, 3, 4:
			a.add(moment)
		default:
			a.changes(1 + a.IntN(3))
		}
	}
	a.add(settle)
	return a.script
}
