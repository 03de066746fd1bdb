package logs

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"millrace/crds"
)

// A tape is the log of a container as a kubelet has it, line by line, and what becomes of
// those who listen.
type tape struct {
	lines []string // with their times
	// cuts are how many bytes each stream in its turn lets through, and how it ends
	// then; when they are over, streams are whole.
	cuts []cut
	// follows waits until the container has printed so many lines; false when it has
	// ended before. Default: it has printed all, and ended.
	follows func(ctx context.Context, n int) bool
}

type cut struct {
	after int // 0: it is not even opened
	with  error
}

var errReset = errors.New("connection reset by peer")

func (p *tape) play(ctx context.Context, of Part) (io.ReadCloser, error) {
	end := cut{1 << 30, io.EOF}
	if len(p.cuts) > 0 {
		end, p.cuts = p.cuts[0], p.cuts[1:]
	}
	if end.after == 0 {
		return nil, end.with
	}
	printed := func(n int) bool { return !of.Follow || p.follows == nil || p.follows(ctx, n) }
	return io.NopCloser(&playing{tape: p, printed: printed, left: ctx.Err, since: of.Since, end: end}), nil
}

type playing struct {
	*tape

	printed func(n int) bool // so many lines, by now or later
	left    func() error     // whoever listened
	since   time.Time
	end     cut
	line    int
	rest    string
}

func (p *playing) Read(into []byte) (int, error) {
	for p.rest == "" {
		if p.line == len(p.lines) || !p.printed(p.line+1) {
			return 0, cmp.Or(p.left(), io.EOF)
		}
		line := p.lines[p.line]
		p.line++
		if stamp, _, _ := strings.Cut(line, " "); !timeOf(stamp).Before(p.since) {
			p.rest = line
		}
	}
	if p.end.after == 0 {
		return 0, p.end.with
	}
	n := copy(into, p.rest[:min(len(p.rest), p.end.after)])
	p.rest, p.end.after = p.rest[n:], p.end.after-n
	return n, nil
}

func timeOf(stamp string) time.Time {
	at, err := time.Parse(time.RFC3339Nano, stamp)
	if err != nil {
		panic(err)
	}
	return at
}

func stamped(at time.Time, text string) string {
	return at.UTC().Format("2006-01-02T15:04:05.000000000Z07:00") + " " + text + "\n"
}

// counting is a container that prints so many lines, apart by every.
func counting(lines int, every time.Duration) *tape {
	begun := time.Now()
	p := &tape{follows: func(ctx context.Context, n int) bool {
		select {
		case <-time.After(time.Until(begun.Add(time.Duration(n-1) * every))):
			return true
		case <-ctx.Done():
			return false
		}
	}}
	for i := range lines {
		p.lines = append(p.lines, stamped(begun.Add(time.Duration(i)*every), fmt.Sprint("line ", i+1)))
	}
	return p
}

// linesOf are what of those lines was printed under a label; once each, in their order.
func linesOf(t *testing.T, printed, label string, lines int) {
	t.Helper()
	var got, want []string
	for line := range strings.Lines(printed) {
		if strings.HasPrefix(line, "["+label+"]") {
			got = append(got, line)
		}
	}
	for i := range lines {
		want = append(want, fmt.Sprintf("[%s] line %d\n", label, i+1))
	}
	if !slices.Equal(got, want) {
		t.Errorf("of %s was printed\n%s", label, strings.Join(got, ""))
	}
}

// follow follows ci/build, while the story goes on.
func follow(t *testing.T, s *stage, cfg Config, story func()) (printed string, err error) {
	t.Helper()
	var out bytes.Buffer
	var reading sync.WaitGroup
	cfg.Follow = true
	reading.Go(func() {
		err = Print(t.Context(), s, types.NamespacedName{Namespace: "ci", Name: "build"}, cfg, &out)
	})
	story()
	reading.Wait()
	return out.String(), err
}

func (s *stage) ends(name string, steps ...string) {
	s.change(func() {
		over := ended(run(name, steps...), steps...)
		done(&over.Status.Conditions, corev1.ConditionTrue, "Succeeded", "")
		s.taskRuns[name] = over
	})
}

// A stream is cut within a line, the server is not there for a while, another stream is
// cut at once: each line is printed once, and that nobody answers is said once.
func TestALogThatIsCutGoesOnWhereItWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		s.taskRuns["build"] = run("build", "s")
		log := counting(200, 300*time.Millisecond)
		log.cuts = []cut{{1234, io.ErrUnexpectedEOF}, {0, errReset}, {0, errReset}, {0, apierrors.NewInternalError(errReset)}, {7, errReset}, {2000, errReset}}
		s.tapes["build-pod/step-s"] = log
		printed, err := follow(t, s, Config{}, func() {
			time.Sleep(70 * time.Second)
			s.ends("build", "s")
		})
		if err != nil {
			t.Error(err)
		}
		linesOf(t, printed, "s", 200)
		if strings.Count(printed, "\n-- the server does not answer, and is asked again (connection reset by peer)\n") != 1 {
			t.Errorf("nothing is said of it:\n%s", printed)
		}
	})
}

// What a step writes to stderr is stamped apart from what it writes to stdout: the line that
// comes last may be of the second before, and the stream is cut just before it.
func TestALineThatIsLateIsNotLeftOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		six := time.Date(2026, 1, 2, 3, 4, 6, 0, time.UTC)
		first := stamped(six.Add(time.Microsecond), "line 1")
		late, next := stamped(six.Add(-time.Microsecond), "line 2"), stamped(six.Add(time.Second), "line 3")
		s.tapes["build-pod/step-s"] = &tape{lines: []string{first, late, next}, cuts: []cut{{len(first), errReset}}}
		s.ends("build", "s")
		linesOf(t, printed(t, s, Config{Follow: true}), "s", 3)
	})
}

// A stream that ends as if all were well is no end of the step: as when an API server is
// stopped gently.
func TestALogThatEndsBeforeItsStepGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		s.taskRuns["build"] = run("build", "s", "after")
		log := counting(50, time.Second)
		log.cuts = []cut{{100, io.EOF}, {100, io.EOF}, {900, io.EOF}}
		s.tapes["build-pod/step-s"], s.tapes["build-pod/step-after"] = log, counting(3, 30*time.Second)
		printed, err := follow(t, s, Config{}, func() {
			time.Sleep(61 * time.Second)
			s.change(func() { s.taskRuns["build"] = ended(run("build", "s", "after"), "s") })
			time.Sleep(time.Minute)
			s.ends("build", "s", "after")
		})
		if err != nil {
			t.Error(err)
		}
		linesOf(t, printed, "s", 50)
		linesOf(t, printed, "after", 3)
		if strings.Index(printed, "[after]") < strings.LastIndex(printed, "[s]") {
			t.Errorf("a step comes before the one before it has ended:\n%s", printed)
		}
	})
}

// A kubelet that is lost with its node, in the middle of a step, looks to who follows its
// log as if that had ended: the API server ends what it passes on. Then its pod is gone.
func TestAStreamThatEndsIsNoEndOfALog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		s.taskRuns["build"] = run("build", "s", "after")
		log := counting(50, time.Second)
		log.cuts = append([]cut{{len(log.lines[0]) * 7, io.EOF}, {0, apierrors.NewInternalError(errReset)}},
			slices.Repeat([]cut{{0, apierrors.NewNotFound(corev1.Resource("pods"), "build-pod")}}, 9)...)
		s.tapes["build-pod/step-s"] = log
		printed, err := follow(t, s, Config{}, func() {
			time.Sleep(time.Minute)
			s.change(func() {
				over := run("build", "s", "after")
				done(&over.Status.Conditions, corev1.ConditionFalse, "PodEvicted", "the pod was deleted")
				s.taskRuns["build"] = over
			})
		})
		linesOf(t, printed, "s", 7)
		const want = "log of step s of ci/build: there may have been more: pod build-pod is gone\n" +
			"log of step after of ci/build: pod build-pod is gone"
		if err == nil || err.Error() != want {
			t.Errorf("%v\nwant\n%s", err, want)
		}
	})
}

// What is between may end each stream when it has passed on what there is: it is asked for
// twice between two pauses, and no more.
func TestAStreamThatEndsEverAgainIsNoHotLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		s.taskRuns["build"] = run("build", "s")
		const often = 10 * time.Millisecond
		begun, log := time.Now(), counting(6000, often)
		log.cuts = slices.Repeat([]cut{{1 << 30, io.EOF}}, 10_000)
		log.follows = func(_ context.Context, n int) bool {
			if time.Since(begun) >= time.Duration(n-1)*often {
				return true
			}
			time.Sleep(often) // the way to the server
			return false
		}
		s.tapes["build-pod/step-s"] = log
		printed, err := follow(t, s, Config{}, func() {
			time.Sleep(time.Minute)
			s.change(func() {
				if asked := 10_000 - len(log.cuts); asked > 2*60*2+2 {
					t.Errorf("asked %d times in a minute", asked)
				}
			})
			s.ends("build", "s")
		})
		if err != nil {
			t.Error(err)
		}
		linesOf(t, printed, "s", 6000)
	})
}

// A last line without an end is waited for until the step is known to have ended; by then
// its pod may be gone. Then what had come of it is printed, and only of what may be missing
// is it said, whether the run is over or just the step. All of it has come where the log was
// asked for once more when it had ended, and there was nothing.
func TestWhatCameOfALogIsPrintedWhenItsPodIsGone(t *testing.T) {
	noPod := apierrors.NewNotFound(corev1.Resource("pods"), "build-pod")
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	one, two := stamped(at, "one"), strings.TrimSuffix(stamped(at, "two"), "\n")
	for name, c := range map[string]struct {
		lines []string
		cuts  []cut
		want  []string
		more  bool // there may have been
	}{
		"the last line has no end": {[]string{one, two}, []cut{{1000, io.EOF}, {1000, io.EOF}}, []string{"[s] one", "[s] two"}, false},
		"it is the only one":       {[]string{two}, []cut{{1000, io.EOF}, {1000, io.EOF}}, []string{"[s] two"}, false},
		"there is no line":         {nil, []cut{{1000, io.EOF}, {1000, io.EOF}}, nil, false},
		"cut in the last line": {[]string{one, two}, []cut{{len(one+two) - 1, errReset}},
			[]string{"[s] one", "[s] tw"}, true},
		"cut in the last line, and then before it": {[]string{one, two}, []cut{{len(one+two) - 1, errReset}, {len(one) - 1, errReset}},
			[]string{"[s] one", "-- the server does not answer, and is asked again (connection reset by peer)", "[s] tw"}, true},
		"cut in the last line, and then sooner in it": {[]string{one, two}, []cut{{len(one+two) - 1, errReset}, {len(one+two) - 2, errReset}},
			[]string{"[s] one", "-- the server does not answer, and is asked again (connection reset by peer)", "[s] tw"}, true},
		"cut in the time of a line": {[]string{one, two}, []cut{{len(one) + 9, errReset}},
			[]string{"[s] one"}, true},
		"it ends, and is not there when it is asked for again":       {[]string{one, two}, []cut{{1000, io.EOF}}, []string{"[s] one", "[s] two"}, true},
		"it ends, and has more when it is asked for again":           {[]string{one, two}, []cut{{len(one), io.EOF}, {1000, io.EOF}}, []string{"[s] one", "[s] two"}, true},
		"its kubelet has nothing of it when its pod is not gone yet": {[]string{one, two}, []cut{{1000, errReset}, {0, apierrors.NewBadRequest("not available")}}, []string{"[s] one", "[s] two"}, true},
	} {
		for only, end := range map[string]func(*stage){
			"the run is over": func(s *stage) { s.ends("build", "s") },
			"just the step":   func(s *stage) { s.change(func() { s.taskRuns["build"] = ended(run("build", "s"), "s") }) },
		} {
			t.Run(name+", "+only, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newStage()
					s.taskRuns["build"] = run("build", "s")
					s.tapes["build-pod/step-s"] = &tape{lines: c.lines, cuts: append(slices.Clone(c.cuts), slices.Repeat([]cut{{0, noPod}}, 9)...)}
					got, err := follow(t, s, Config{}, func() {
						time.Sleep(time.Minute)
						end(s)
						time.Sleep(time.Minute)
						s.ends("build", "s")
					})
					if (err != nil) != c.more || c.more && err.Error() != "log of step s of ci/build: there may have been more: pod build-pod is gone" {
						t.Error(err)
					}
					same(t, got+"--\n", append(c.want, "--")...)
				})
			})
		}
	}
}

// Who gives up prints what had come, too.
func TestWhatCameOfALogIsPrintedWhenItFails(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s := newStage()
	s.taskRuns["build"] = run("build", "s")
	s.tapes["build-pod/step-s"] = &tape{lines: []string{stamped(at, "one"), stamped(at, "two")}, cuts: []cut{{len(stamped(at, "one")+stamped(at, "two")) - 2, errReset}}}
	var out strings.Builder
	err := Print(t.Context(), s, types.NamespacedName{Namespace: "ci", Name: "build"}, Config{}, &out)
	if !errors.Is(err, errReset) {
		t.Error(err)
	}
	same(t, out.String(), "[s] one", "[s] tw")
}

// pipelineOf is ci/build of two tasks that run, each with a step s.
func pipelineOf(s *stage, tasks ...string) {
	r := &crds.PipelineRun{}
	for _, name := range tasks {
		s.taskRuns["build-"+name] = run("build-"+name, "s")
		child := crds.ChildStatusReference{Name: "build-" + name, PipelineTaskName: name}
		child.Kind = crds.KindTaskRun
		r.Status.ChildReferences = append(r.Status.ChildReferences, child)
	}
	s.pipelines["build"] = r
}

func TestOneLogThatFailsEndsNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		pipelineOf(s, "left", "right")
		s.tapes["build-left-pod/step-s"] = &tape{cuts: slices.Repeat([]cut{{0, errReset}}, 1000)}
		s.tapes["build-right-pod/step-s"] = counting(600, time.Second)
		begun := time.Now()
		printed, err := follow(t, s, Config{}, func() {
			time.Sleep(11 * time.Minute)
			s.ends("build-left", "s")
			s.ends("build-right", "s")
			s.change(func() {
				over := *s.pipelines["build"]
				done(&over.Status.Conditions, corev1.ConditionTrue, "Succeeded", "")
				s.pipelines["build"] = &over
			})
		})
		linesOf(t, printed, "right : s", 600)
		if err == nil || err.Error() != "log of step s of ci/build-left: given up after 5m0s: connection reset by peer" {
			t.Error(err)
		}
		if took := time.Since(begun); took > 12*time.Minute {
			t.Errorf("it took %s", took)
		}
	})
}

func TestAWatchThatIsCutIsBegunAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		pipelineOf(s)
		s.deaf = []error{errReset, apierrors.NewServiceUnavailable("it is started"), nil, apierrors.NewUnauthorized("it has expired")}
		printed, err := follow(t, s, Config{}, func() {
			time.Sleep(time.Minute)
			s.change(func() {
				pipelineOf(s, "late")
				s.tapes["build-late-pod/step-s"] = counting(3, 0)
			})
			time.Sleep(time.Minute)
			s.ends("build-late", "s")
			s.change(func() {
				done(&s.pipelines["build"].Status.Conditions, corev1.ConditionTrue, "Succeeded", "")
			})
		})
		if err != nil {
			t.Error(err)
		}
		linesOf(t, printed, "late : s", 3)
	})
}

// hanging is a log that says nothing, for ever.
func hanging() *tape {
	return &tape{lines: []string{stamped(time.Now(), "")}, follows: func(ctx context.Context, _ int) bool {
		<-ctx.Done()
		return false
	}}
}

func TestWhatNobodyMayReadEndsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		pipelineOf(s, "left", "right")
		_, forbidden := refusing{}.Log(t.Context(), types.NamespacedName{}, "", Part{})
		s.tapes["build-left-pod/step-s"], s.tapes["build-right-pod/step-s"] = hanging(), &tape{cuts: []cut{{0, forbidden}}}
		if _, err := follow(t, s, Config{}, func() {}); !apierrors.IsForbidden(err) || strings.Count(err.Error(), "forbidden") != 1 {
			t.Error(err)
		}
	})
}

// gone is a terminal that was closed.
type gone struct{}

var errGone = errors.New("broken pipe")

func (gone) Write([]byte) (int, error) { return 0, errGone }

func TestWhoHasGoneIsPrintedNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		pipelineOf(s, "left", "right")
		s.tapes["build-left-pod/step-s"], s.tapes["build-right-pod/step-s"] = hanging(), counting(3, time.Second)
		err := Print(t.Context(), s, types.NamespacedName{Namespace: "ci", Name: "build"}, Config{Follow: true}, gone{})
		if !errors.Is(err, errGone) {
			t.Error(err)
		}
	})
}

// A sidecar is started again when it ends, and ends after the steps.
func TestSidecarsAreShownBesideTheSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		with := func(steps ...string) *crds.TaskRun {
			r := ended(run("build", "s"), steps...)
			r.Status.TaskSpec.Sidecars = []crds.Sidecar{{Name: "db"}, {}}
			return r
		}
		s.taskRuns["build"] = with()
		s.tapes["build-pod/step-s"] = counting(10, time.Second)
		db := counting(12, time.Second)
		db.cuts = []cut{{200, io.EOF}}
		s.tapes["build-pod/sidecar-db"], s.tapes["build-pod/sidecar-unnamed-1"] = db, counting(1, 0)
		printed, err := follow(t, s, Config{Sidecars: true}, func() {
			time.Sleep(15 * time.Second)
			s.change(func() {
				over := with("s")
				done(&over.Status.Conditions, corev1.ConditionTrue, "Succeeded", "")
				s.taskRuns["build"] = over
			})
		})
		if err != nil {
			t.Error(err)
		}
		linesOf(t, printed, "s", 10)
		linesOf(t, printed, "sidecar-db", 12)
		linesOf(t, printed, "sidecar-unnamed-1", 1)
		if printed, _ = follow(t, s, Config{}, func() {}); strings.Contains(printed, "sidecar") {
			t.Errorf("nobody has asked for sidecars:\n%s", printed)
		}
	})
}

// A step that has ended at once gives the run anew, while sidecars still begin with the one
// that there was: nothing is read that is written beside it. Only -race can tell.
func TestSidecarsBeginWithTheRunAsItWas(t *testing.T) {
	for range 20 {
		s := newStage()
		r := ended(run("build", "s"), "s")
		r.Status.TaskSpec.Sidecars = []crds.Sidecar{{Name: "db"}, {Name: "cache"}}
		done(&r.Status.Conditions, corev1.ConditionTrue, "Succeeded", "")
		s.taskRuns["build"] = r
		for _, name := range []string{"step-s", "sidecar-db", "sidecar-cache"} {
			s.logs["build-pod/"+name] = strings.NewReader(name + "\n")
		}
		got := strings.SplitAfter(printed(t, s, Config{Follow: true, Sidecars: true}), "\n")
		slices.Sort(got)
		same(t, strings.Join(got, ""), "[s] step-s", "[sidecar-cache] sidecar-cache", "[sidecar-db] sidecar-db")
	}
}

// Without Follow they are last.
func TestSidecarsComeAfterTheSteps(t *testing.T) {
	s := newStage()
	r := run("build", "s")
	r.Status.TaskSpec.Sidecars = []crds.Sidecar{{Name: "db"}}
	s.taskRuns["build"] = r
	s.logs["build-pod/step-s"], s.logs["build-pod/sidecar-db"] = strings.NewReader("1\n"), strings.NewReader("2\n")
	same(t, printed(t, s, Config{Sidecars: true}), "[s] 1", "[sidecar-db] 2")
}

// The name of a container has 63 characters at the most.
func TestAStepWithALongNameHasALog(t *testing.T) {
	s := newStage()
	long := strings.Repeat("x", 57) + "-abcde"
	r := run("build", long)
	done(&r.Status.Conditions, corev1.ConditionTrue, "Succeeded", "")
	s.taskRuns["build"] = r
	s.logs["build-pod/step-"+strings.Repeat("x", 57)] = strings.NewReader("here\n")
	same(t, printed(t, s, Config{}), "["+long+"] here")
}

// Of a run that has failed before it had a pod, nothing is said of its steps.
func TestARunWithoutAPodHasNoLogs(t *testing.T) {
	s := newStage()
	r := run("build", "a", "b")
	r.Status.PodName = ""
	done(&r.Status.Conditions, corev1.ConditionFalse, "CouldntGetTask", "no")
	s.taskRuns["build"] = r
	same(t, printed(t, s, Config{Follow: true}), "-- TaskRun ci/build has failed: CouldntGetTask: no")
}

// However often a log is cut, and wherever, gently or not, each of its lines is printed
// once, in their order; though many have one time, or one that is earlier by up to a second
// than that of a line before. What is kept of a line without its end is the next one's.
func FuzzALogThatIsCut(f *testing.F) {
	f.Add([]byte("\x00\x01\x02\x03\x04\x04\x03\x00\x02\x02"), []byte("\x20\x41\x60\x05"))
	f.Add(bytes.Repeat([]byte{1, 2, 0, 3}, 30), bytes.Repeat([]byte{200, 31, 77}, 20))
	f.Add(bytes.Repeat([]byte{2, 5, 13, 5}, 30), bytes.Repeat([]byte{27, 31, 45}, 20))
	f.Fuzz(func(t *testing.T, steps, cuts []byte) {
		steps, cuts = steps[:min(len(steps), 300)], cuts[:min(len(cuts), 60)] // more show no more
		at, log, want := time.Date(2026, 1, 2, 3, 4, 5, 999_999_000, time.UTC), &tape{}, ""
		latest := at
		for i, step := range steps {
			at = at.Add([]time.Duration{0, time.Nanosecond, 400 * time.Millisecond, 1300 * time.Millisecond, -time.Nanosecond, -700 * time.Millisecond}[step%6])
			if most := latest.Add(-time.Second); at.Before(most) {
				at = most
			}
			if at.After(latest) {
				latest = at
			}
			text := []string{"", "same", fmt.Sprint("line ", i)}[step/6%3]
			log.lines = append(log.lines, stamped(at, text))
			want += "[s] " + text + "\n"
		}
		if n := len(steps); n%2 == 1 {
			log.lines[n-1] = strings.TrimSuffix(log.lines[n-1], "\n")
		}
		for _, b := range cuts {
			log.cuts = append(log.cuts, cut{1 + int(b>>1)*3, []error{io.EOF, errReset}[b&1]})
		}
		s := newStage()
		s.tapes["p/c"] = log
		var out strings.Builder
		p := &printer{Cluster: s, paper: &paper{out: &out}, stop: func(err error) { t.Error(err) }}
		from := position{}
		for range cuts {
			if _, err := p.read(t.Context(), types.NamespacedName{Name: "p"}, "c", "s", &from, true); err != nil && !errors.Is(err, errReset) {
				t.Fatal(err)
			}
			was := from // what is held is the beginning of the line that is next
			if rest := was.rest(); rest != "" && !strings.HasPrefix(want, out.String()+"[s] "+rest) {
				t.Fatalf("printed\n%swould be\n[s] %s\nwant\n%s", out.String(), rest, want)
			}
		}
		if _, err := p.read(t.Context(), types.NamespacedName{Name: "p"}, "c", "s", &from, false); err != nil || out.String() != want {
			t.Errorf("%v, printed\n%swant\n%s", err, out.String(), want)
		}
	})
}
