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
// a time, but in whole seconds, and a container may print many lines in one, in some order
// that their times need not have: so which lines of the last second were printed is kept,
// as hashes. It is of one container. The zero value is the beginning.
type position struct {
	second  time.Time
	printed map[uint64]int // lines from then on, how often each
	seed    maphash.Seed
	said    string // the last line without a time, which is the kubelet's own
}

// A resumed log is a position, and which lines from there are still to come again.
type resumed struct {
	*position

	again map[uint64]int
	begun bool // a line has come, or may come, that had not come before
}

func (p *position) resume() resumed {
	first := p.printed == nil
	if first {
		p.printed, p.seed = map[uint64]int{}, maphash.MakeSeed()
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
	hash := maphash.String(r.seed, line)
	if r.again[hash] > 0 {
		r.again[hash]--
		return text, false
	}
	r.begun = true
	if second := at.Truncate(time.Second); second.After(r.second) {
		r.second = second
		clear(r.printed)
	}
	if !at.Before(r.second) { // or it will not come again
		r.printed[hash]++
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
	log, err := p.Log(ctx, pod, container, Part{Follow: follow, Since: from.second})
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
