package simulation

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	jitter "math/rand"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"millrace/internal/simulation/apiserver"
)

// Program is what is simulated: it runs until ctx ends, and uses nothing of the
// machine but what it is given.
type Program func(ctx context.Context, on Machine) error

// Machine is what a process of the program has.
type Machine struct {
	PodName    string
	RestConfig *rest.Config
	Listener   net.Listener
	Random     func(use string) rand.Source
	// Handling is to be called before a change of a resource is handled.
	Handling func(resource string)
}

// process is one life of a replica.
type process struct {
	pod, actor string
	link       *apiserver.Link
	transport  *http.Transport
	door       *door
	stop       context.CancelFunc
	told       time.Time // when it was told to stop; zero: it was not
	dead       bool
	stall      *stall // nil: its handlers work; the world's lock guards it
}

// start begins a process of a pod. Only the agenda calls it.
func (w *World) start(pod string) {
	if w.ending || w.alive[pod] != nil {
		return
	}
	w.lives[pod]++
	actor := fmt.Sprintf("%s.%d", pod, w.lives[pod])
	ctx, stop := context.WithCancel(context.Background())
	p := &process{pod: pod, actor: actor, link: w.connect(actor), door: newDoor(), stop: stop}
	p.transport = &http.Transport{DialContext: p.link.Dial, DisableCompression: true, DisableKeepAlives: true}
	w.alive[pod] = p
	w.notef("%s starts", actor)
	ctx = klog.NewContext(ctx, textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(w.log()), textlogger.Verbosity(w.workload.verbosity))))
	w.processes.Go(func() {
		err := w.setting.Program(ctx, Machine{
			PodName:    pod,
			RestConfig: &rest.Config{Host: "http://apiserver", Transport: newOldConnections(p.transport, w.Plan.Seed, actor)},
			Listener:   p.door,
			Random:     func(use string) rand.Source { return w.Plan.Seed.Source("random", actor, use) },
			Handling:   func(resource string) { w.handling(ctx, p, resource) },
		})
		stop()
		_ = p.door.Close() // it may have ended before it came to its listener
		p.link.Cut()
		p.transport.CloseIdleConnections()
		w.Agenda.After(0, func() { w.ended(p, err) })
		w.Agenda.After(time.Microsecond, func() { w.shuffle(actor) })
	})
}

// shuffle begins client-go's source of jitter anew, which is shared by all who live.
// A recorder of events that is shut down has a select between its end and the next
// event, and draws for each that it cannot send any more: so how much the dead has
// drawn is chance, and the next process would go on from there. When time has passed
// its goroutines are at rest.
func (w *World) shuffle(dead string) {
	jitter.Seed(int64(w.Plan.Seed.Draw("jitter after", dead))) //nolint:staticcheck // there is no other way to it
}

func (w *World) connect(actor string) *apiserver.Link {
	l := w.Server.Connect(actor)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.facts.links = append(w.facts.links, l)
	return l
}

func (w *World) dialsLocked() int {
	n := 0
	for _, l := range w.facts.links {
		n += l.Dials()
	}
	return n
}

// ended is a process that has returned.
func (w *World) ended(p *process, err error) {
	if p.dead {
		return // nobody hears of it
	}
	w.notef("%s has ended: %v", p.actor, err)
	w.mu.Lock()
	if p.told.IsZero() {
		w.facts.Quits = append(w.facts.Quits, Quit{p.actor, time.Now(), err})
	} else {
		w.facts.Stops = append(w.facts.Stops, Stop{p.actor, time.Since(p.told), err})
	}
	w.mu.Unlock()
	w.again(p)
}

// again starts a pod's next process, as a kubelet would.
func (w *World) again(p *process) {
	if w.alive[p.pod] == p {
		delete(w.alive, p.pod)
	}
	w.Agenda.After(w.Plan.Seed.Between(500*time.Millisecond, 8*time.Second, "again", p.actor), func() { w.start(p.pod) })
}

// bury is for a process that was killed: its link is cut already.
func (w *World) bury(actor string) {
	for _, p := range w.alive {
		if p.actor == actor && !p.dead {
			p.dead = true
			w.mu.Lock()
			w.facts.dead[actor] = true
			w.mu.Unlock()
			w.notef("%s is dead", actor)
			p.stop() // its goroutines have to go, though they can tell nobody anything
			w.again(p)
			if w.Plan.Stale != nil {
				w.interference.freeze()
				w.Agenda.After(30*time.Second, w.interference.thaw)
			}
			return
		}
	}
}

func (w *World) kill(p *process) {
	p.link.Cut()
	w.bury(p.actor)
}

// tellToStop is SIGTERM.
func (w *World) tellToStop(actor string) {
	for _, p := range w.alive {
		if p.actor == actor && p.told.IsZero() {
			w.notef("%s is told to stop", actor)
			p.told = time.Now()
			p.stop()
		}
	}
}

func (w *World) anyProcess(name string) *process {
	pods := slices.Sorted(maps.Keys(w.alive))
	if len(pods) == 0 {
		return nil
	}
	return w.alive[pods[w.Plan.Seed.Below(len(pods), "which", name)]]
}

func (w *World) anyLink(name string) *apiserver.Link {
	if p := w.anyProcess(name); p != nil {
		return p.link
	}
	return nil
}

// stopAll has every process stop, and waits for it.
func (w *World) stopAll() {
	done := make(chan struct{})
	w.Agenda.After(0, func() {
		defer close(done)
		w.ending = true
		for _, pod := range slices.Sorted(maps.Keys(w.alive)) {
			w.tellToStop(w.alive[pod].actor)
		}
	})
	<-done
	w.processes.Wait()
	pass(time.Second) // for what they leave on the agenda
}

// log is where the programs write to.
func (w *World) log() io.Writer { return &w.facts.logs }

// lockedBuffer is a buffer that many may write to.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// door is a listener of pipes.
type door struct {
	knock chan net.Conn
	shut  chan struct{}
	once  sync.Once
}

func newDoor() *door { return &door{knock: make(chan net.Conn), shut: make(chan struct{})} }

// Accept, Close and Addr are those of a net.Listener.
func (d *door) Accept() (net.Conn, error) {
	select {
	case c := <-d.knock:
		return c, nil
	case <-d.shut:
		return nil, net.ErrClosed
	}
}

func (d *door) Close() error {
	d.once.Do(func() { close(d.shut) })
	return nil
}

func (d *door) Addr() net.Addr { return &net.UnixAddr{Name: "metrics"} }

func (d *door) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case d.knock <- far:
		return near, nil
	case <-d.shut:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// scrape reads the metrics of the processes that are alive.
func (w *World) scrape() {
	got := make(chan map[string]string)
	w.Agenda.After(0, func() {
		texts := map[string]string{}
		for pod, p := range w.alive {
			texts[pod] = p.door.get("/metrics")
		}
		got <- texts
	})
	w.facts.Metrics = <-got
	w.facts.final(w.Server)
}

func (d *door) get(path string) string {
	transport := &http.Transport{DialContext: d.dial, DisableKeepAlives: true}
	client := &http.Client{Transport: transport, Timeout: time.Minute}
	response, err := client.Get("http://metrics" + path) //nolint:noctx // it has a timeout
	if err != nil {
		return ""
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	return string(text)
}
