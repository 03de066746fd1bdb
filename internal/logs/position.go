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

// A resumed log is a position, and which lines from there are still to come again.
type resumed struct {
	*position

	again map[mark]int
	begun bool // a line has come, or may come, that had not come before
}

func (p *position) resume() resumed {
	first := p.printed == nil
	if first {
		p.printed, p.seed = map[mark]int{}, maphash.MakeSeed()
	}
	return resumed{position: p, again: maps.Clone(p.printed), begun: first}
}

// take is the text of a line; false if it was printed already.
func (r *resumed) take(line string) (text string, fresh bool) {
	stamp, text, _ := strings.Cut(line, " ")
	at, err := time.Parse(time.RFC3339Nano, stamp)
	if err != nil {
		fresh = r.begun || line != r.said
		r.begun, r.said = fresh, line
		return line, fresh
	}
	second := at.Truncate(time.Second)
	m := mark{second.Unix(), maphash.String(r.seed, line)}
	if r.again[m] > 0 {
		r.again[m]--
		return text, false
	}
	r.begun = true
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

// read prints what a log says from a position on, and moves that. Lasted tells whether
// there was a line, or it was waited for for a while. A last line without an end is printed
// as a line where the container has ended; where it has not, it comes again as a whole.
func (p *printer) read(ctx context.Context, pod types.NamespacedName, container, label string, from *position, follow bool) (lasted bool, err error) {
	if pod.Name == "" { // it is not made yet
		return false, apierrors.NewNotFound(corev1.Resource("pods"), "")
	}
	log, err := p.Log(ctx, pod, container, Part{Follow: follow, Since: from.since()})
	if err != nil {
		return false, err
	}
	defer log.Close()
	begun := time.Now()
	defer func() { lasted = lasted || time.Since(begun) >= mostPause }()
	reader, resumed := bufio.NewReader(log), from.resume()
	for {
		line, err := reader.ReadString('\n')
		whole := err == nil || errors.Is(err, io.EOF) && line != "" && !follow
		if whole {
			if text, fresh := resumed.take(strings.TrimSuffix(line, "\n")); fresh {
				lasted = true
				if failed := p.paper.line(label, text); failed != nil {
					p.stop(failed)
					return lasted, failed
				}
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return lasted, nil
		case err != nil:
			return lasted, err
		}
	}
}
