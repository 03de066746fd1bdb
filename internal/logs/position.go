package logs

import (
	"bufio"
	"context"
	"errors"
	"hash/maphash"
	"io"
	"maps"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
)

// A position is how far a log has been printed. The API can be asked for what comes after
// a time, but in whole seconds, and lines need not have the order of their times: many are
// of one second, and what writes stdout and what writes stderr look at the clock each for
// itself, so that a line of 05.999999 may come after one of 06.000001. So which lines of the
// last second and of the one before it were printed is kept, as hashes. It is of one
// container. The zero value is the beginning.
type position struct {
	second  time.Time    // the latest that a line was of; zero: none was
	printed map[mark]int // lines from since on, how often each
	seed    maphash.Seed
	said    string // the last line without a time, which is the kubelet's own
	held    string // what has come of the line after those printed, while its end has not
}

// A mark is what is kept of a line.
type mark struct {
	second int64 // since 1970
	hash   uint64
}

// since is what the log is asked for from; no line comes that is late by more.
func (p *position) since() time.Time {
	if p.second.IsZero() {
		return p.second
	}
	return p.second.Add(-time.Second)
}

// begun tells whether anything has come of it.
func (p *position) begun() bool { return !p.second.IsZero() || p.said != "" || p.held != "" }

// A resumed log is a position, and which lines from there are still to come again.
type resumed struct {
	*position

	again map[mark]int
	fresh bool // a line has come, or may come, that had not come before
}

func (p *position) resume() resumed {
	first := p.printed == nil
	if first {
		p.printed, p.seed = map[mark]int{}, maphash.MakeSeed()
	}
	return resumed{position: p, again: maps.Clone(p.printed), fresh: first}
}

// take is the text of a line; false if it was printed already.
func (r *resumed) take(line string) (text string, fresh bool) {
	at, text := timed(line)
	if at.IsZero() {
		if !r.fresh && line == r.said {
			return text, false
		}
		r.fresh, r.held, r.said = true, "", line
		return text, true
	}
	second := at.Truncate(time.Second)
	m := mark{second.Unix(), maphash.String(r.seed, line)}
	if r.again[m] > 0 {
		if r.again[m]--; r.again[m] == 0 {
			delete(r.again, m)
		}
		return text, false
	}
	r.fresh, r.held = true, ""
	if second.After(r.second) {
		r.second = second
		oldest := r.since().Unix()
		maps.DeleteFunc(r.printed, func(m mark, _ int) bool { return m.second < oldest })
	}
	if !second.Before(r.since()) { // or it will not come again
		r.printed[m]++
	}
	return text, true
}

// hold keeps a line whose end has not come: the log may not be there to be read again.
// While lines are still to come again it is one of these; and of the one line that is held,
// the most that has come is kept.
func (r *resumed) hold(line string) {
	if (r.fresh || len(r.again) == 0) && !strings.HasPrefix(r.held, line) {
		r.held = line
	}
}

// rest is the text of the line that is held, which is so no more; "" if there is none.
func (p *position) rest() string {
	line := p.held
	if p.held = ""; !strings.Contains(line, " ") {
		return "" // it was cut within its time
	}
	_, text := timed(line)
	return text
}

// timed is when a line was printed, and the line; what has no time has the zero one.
func timed(line string) (at time.Time, text string) {
	stamp, text, _ := strings.Cut(line, " ")
	at, err := time.Parse(time.RFC3339Nano, stamp)
	if err != nil {
		return time.Time{}, line
	}
	return at, text
}

// read prints what a log says from a position on, and moves that. Lasted tells whether
// something came, or was waited for for a while. A last line without an end is printed
// as a line where the container has ended; where it has not, it is held, and comes again as
// a whole.
func (p *printer) read(ctx context.Context, pod types.NamespacedName, container, label string, from *position, follow bool) (lasted bool, err error) {
	if pod.Name == "" { // it is not made yet
		return false, apierrors.NewNotFound(corev1.Resource("pods"), "")
	}
	log, err := p.Log(ctx, pod, container, Part{Follow: follow, Since: from.since()})
	if err != nil {
		return false, err
	}
	defer log.Close()
	begun, held := time.Now(), from.held
	defer func() { lasted = lasted || from.held != held || time.Since(begun) >= mostPause }()
	reader, resumed := bufio.NewReader(log), from.resume()
	for {
		line, err := reader.ReadString('\n')
		over := errors.Is(err, io.EOF)
		if err == nil || over && line != "" && !follow {
			if text, fresh := resumed.take(strings.TrimSuffix(line, "\n")); fresh {
				lasted = true
				if failed := p.print(label, text); failed != nil {
					return lasted, failed
				}
			}
		} else {
			resumed.hold(line)
		}
		switch {
		case over:
			return lasted, nil
		case err != nil:
			return lasted, err
		}
	}
}

// print prints a line of a log. Where that cannot be, all ends.
func (p *printer) print(label, text string) error {
	err := p.paper.line(label, text)
	if err != nil {
		p.stop(err)
	}
	return err
}
