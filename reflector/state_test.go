package reflector

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"millrace/wire"
)

// Every state has an answer to every ending: it waits, or it goes to another
// exchange. The table is the drawing of the package doc, complete.
func TestEveryEndingInEveryState(t *testing.T) {
	noon := time.Unix(0, 0)
	for _, c := range []struct {
		in   State
		end  ending
		how  string // what else is true of the exchange
		want string
	}{
		{Probing, complete, "", "watch-listing"},
		{Probing, complete, "pages", "listing"},
		{Probing, stopped, "", "probing"},
		{Probing, rejected, "", "watch-listing"},
		{Probing, unacceptable, "", "watch-listing"},
		{Probing, unreachable, "", "backing-off, then probing"},
		{Probing, silent, "", "backing-off, then probing"},
		{Probing, unavailable, "", "backing-off, then probing"},
		{Probing, denied, "", "backing-off, then probing"},
		{Probing, missing, "", "suspended, then probing"},

		{WatchListing, complete, "", "watching"},
		{WatchListing, stopped, "", "watch-listing"},
		{WatchListing, closed, "opened", "listing"},
		{WatchListing, unreachable, "", "backing-off, then watch-listing"},
		{WatchListing, unreachable, "opened", "backing-off, then listing"},
		{WatchListing, silent, "", "listing"},
		{WatchListing, silent, "opened", "listing"},
		{WatchListing, malformed, "opened", "listing"},
		{WatchListing, expired, "", "backing-off, then watch-listing"},
		{WatchListing, expired, "floor", "watch-listing"},
		{WatchListing, tooLarge, "", "backing-off, then watch-listing"},
		{WatchListing, tooLarge, "floor", "watch-listing"},
		{WatchListing, unavailable, "", "backing-off, then watch-listing"},
		{WatchListing, unavailable, "opened", "backing-off, then listing"},
		{WatchListing, denied, "", "backing-off, then watch-listing"},
		{WatchListing, missing, "", "suspended, then watch-listing"},
		{WatchListing, rejected, "", "listing"},
		{WatchListing, unacceptable, "", "listing"},
		{WatchListing, unacceptable, "spellings", "watch-listing"},

		{Listing, complete, "", "watching"},
		{Listing, stopped, "", "listing"},
		{Listing, unreachable, "", "backing-off, then watch-listing"},
		{Listing, unreachable, "pages", "backing-off, then listing"},
		{Listing, silent, "pages", "backing-off, then listing"},
		{Listing, expired, "pages", "backing-off, then listing"},
		{Listing, expired, "pages floor", "listing"},
		{Listing, expired, "pages second", "listing whole"},
		{Listing, expired, "pages second whole", "backing-off, then listing whole"},
		{Listing, tooLarge, "pages floor", "listing"},
		{Listing, unavailable, "pages", "backing-off, then listing"},
		{Listing, denied, "pages", "backing-off, then listing"},
		{Listing, missing, "pages", "suspended, then listing"},
		{Listing, rejected, "pages", "backing-off, then listing"},
		{Listing, unacceptable, "pages", "backing-off, then listing"},
		{Listing, unacceptable, "pages spellings", "listing"},

		{Watching, stopped, "opened", "watching"},
		{Watching, closed, "opened healthy", "watching"},
		{Watching, closed, "opened", "backing-off, then watching"},
		{Watching, closed, "opened healthy gap", "watch-listing: gap"},
		{Watching, closed, "opened gap", "watch-listing: gap"},
		{Watching, closed, "opened gap fresh", "backing-off, then watch-listing: gap"},
		{Watching, unreachable, "", "backing-off, then watching"},
		{Watching, unreachable, "gap", "backing-off, then watching"},
		{Watching, unreachable, "opened healthy", "watching"},
		{Watching, silent, "opened healthy", "watching"},
		{Watching, silent, "opened healthy bookmarked heard", "watching"},
		{Watching, silent, "opened healthy bookmarked", "watch-listing: silent"},
		{Watching, silent, "opened healthy mute", "watch-listing: silent"},
		{Watching, silent, "opened healthy mute heard", "watching"},
		{Watching, silent, "bookmarked", "backing-off, then watching"},
		{Watching, malformed, "opened", "backing-off, then watching"},
		{Watching, malformed, "opened stuck", "watch-listing: stuck"},
		{Watching, expired, "", "watch-listing: expired"},
		{Watching, expired, "opened healthy", "watch-listing: expired"},
		{Watching, expired, "opened healthy pages", "listing: expired"},
		{Watching, expired, "opened fresh", "backing-off, then watch-listing: expired"},
		{Watching, expired, "fresh", "backing-off, then watch-listing whole: expired"},
		{Watching, expired, "failures", "watch-listing: expired"},
		{Watching, expired, "opened failures fresh", "backing-off, then watch-listing: expired"},
		{Watching, tooLarge, "", "watch-listing: rewound"},
		{Watching, tooLarge, "failures", "watch-listing: rewound"},
		{Watching, rewound, "opened healthy", "watch-listing: rewound"},
		{Watching, rewound, "opened fresh", "backing-off, then watch-listing: rewound"},
		{Watching, unavailable, "", "backing-off, then watching"},
		{Watching, unavailable, "stuck", "backing-off, then watching"},
		{Watching, unavailable, "opened stuck", "watch-listing: stuck"},
		{Watching, denied, "", "backing-off, then watching"},
		{Watching, missing, "", "suspended, then watch-listing: missing"},
		{Watching, rejected, "", "watch-listing: rejected"},
		{Watching, unacceptable, "", "watch-listing: rejected"},
		{Watching, unacceptable, "spellings", "watching"},
		{Watching, unacceptable, "opened spellings", "watch-listing: rejected"},
		{Watching, rejected, "failures", "backing-off, then watch-listing: rejected"},
		{Watching, rejected, "fresh", "backing-off, then watch-listing: rejected"},
	} {
		p, o := arrange(c.in, c.end, c.how, noon)
		if got := p.after(o); describePosition(got) != c.want {
			t.Errorf("%v, %d %q: got %q, want %q", c.in, c.end, c.how, describePosition(got), c.want)
		}
	}
}

// A clean close opens no hot loop, whatever the order of the endings: between
// two exchanges without a pause there is health, or another way is tried, and
// of those there are few.
func TestNoEndingRepeatsWithoutAPause(t *testing.T) {
	endings := []ending{complete, closed, unreachable, silent, malformed, expired, tooLarge, rewound, unavailable, denied, missing, rejected, unacceptable}
	for first := range endings {
		for second := range endings {
			for third := range endings {
				p := start(Config{ShardSelector: "some", Format: wire.Protobuf, DropManagedFields: true})
				script := []ending{endings[first], endings[second], endings[third]}
				atOnce := 0
				for i := range 300 {
					if p.state == BackingOff || p.state == Suspended {
						atOnce = 0
						p = p.after(outcome{end: complete})
						continue
					}
					if atOnce++; atOnce > 12 {
						t.Fatalf("endings %v: %d exchanges without a pause", script, atOnce)
					}
					o := outcome{end: script[i%3], rv: "10", now: time.Unix(0, 0), opened: script[i%3] != unacceptable, heard: true, progress: i%2 == 0}
					p = p.after(o)
				}
			}
		}
	}
}

func arrange(in State, end ending, how string, now time.Time) (position, outcome) {
	p, o := position{state: in, rv: "10", probe: in == Probing}, outcome{end: end, rv: "10", now: now}
	for word := range strings.FieldsSeq(how) {
		switch word {
		case "opened":
			o.opened = true
		case "healthy":
			o.healthy = true
		case "heard":
			o.heard = true
		case "gap":
			o.gap = true
		case "second":
			o.pages = 1
		case "floor":
			p.floor = "9"
		case "whole":
			p.whole = true
		case "pages":
			p.pagesUntil = now.Add(time.Minute)
		case "fresh":
			p.fresh = true
		case "spellings":
			p.spellings = 2
		case "failures":
			p.failures = 1
		case "mute":
			p.mute = muteAfter - 1
		case "bookmarked":
			p.bookmarked = true
		case "stuck":
			p.stuck = stuckAfter - 1
		default:
			panic(word)
		}
	}
	return p, o
}

func describePosition(p position) string {
	text := p.state.String()
	if p.state == BackingOff || p.state == Suspended {
		text += ", then " + p.resume.String()
	}
	if p.whole {
		text += " whole"
	}
	if p.cause != "" {
		text += ": " + string(p.cause)
	}
	return text
}

// The floor of the next list is where the sink stands, so that it never goes
// back; but nothing, where the server's numbers have.
func TestFloorOfTheNextList(t *testing.T) {
	for end, want := range map[ending]string{expired: "10", rewound: "", tooLarge: "", rejected: "10", missing: ""} {
		p, o := arrange(Watching, end, "opened healthy", time.Unix(0, 0))
		if got := p.after(o).floor; got != want {
			t.Errorf("after ending %d the floor is %q, want %q", end, got, want)
		}
	}
}

// Three mute watches in a row lead to a list where bookmarks are unheard of;
// one word between them, and the count begins anew.
func TestMuteWatchesAreCounted(t *testing.T) {
	mute := outcome{end: silent, rv: "10", opened: true, healthy: true}
	word := mute
	word.heard = true
	p := position{state: Watching, rv: "10"}
	for i, o := range []outcome{mute, mute, word, mute, mute} {
		if p = p.afterWatch(o); p.state != Watching {
			t.Fatalf("after watch %d the state is %v", i, p.state)
		}
	}
	if p = p.afterWatch(mute); p.state != WatchListing || p.cause != CauseSilent {
		t.Errorf("after three mute watches: %s", describePosition(p))
	}
}

// A list alone is no health: else lists that work and watches that never do
// would take turns without pause.
func TestCommitKeepsTheFailures(t *testing.T) {
	p := position{state: Listing, failures: 3, stuck: 2, whole: true, floor: "9", cause: CauseGap, gap: true, rv: "9"}
	got := p.afterList(outcome{end: complete, rv: "10"})
	want := position{state: Watching, failures: 3, fresh: true, rv: "10"}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(position{})); diff != "" {
		t.Error(diff)
	}
}

// A connection that was silent is left by the next request, with a pause before
// it or without, and by no other.
func TestSilentConnectionIsLeftByTheNextRequest(t *testing.T) {
	p := position{state: Watching, rv: "10"}.after(outcome{end: silent, rv: "10", opened: true})
	if p.state != BackingOff || !p.suspect {
		t.Fatalf("after silence: %v, suspect is %v", p.state, p.suspect)
	}
	if p = p.after(outcome{end: complete}); p.state != Watching || !p.suspect {
		t.Fatalf("after the pause: %v, suspect is %v", p.state, p.suspect)
	}
	if p = p.after(outcome{end: closed, rv: "10", opened: true}); p.suspect {
		t.Error("suspect for ever")
	}
}
