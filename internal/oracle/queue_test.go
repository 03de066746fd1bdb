package oracle

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	theirs "k8s.io/client-go/util/workqueue"
	"pgregory.net/rapid"

	ours "millrace/workqueue"
)

// An op is one thing that somebody does to a queue.
type op struct {
	Do    string // Add, AddAfter, AddRateLimited or another failure, Forget, Get, Done, ShutDown, or wait
	Key   string
	Delay time.Duration // of AddAfter and wait
}

func (o op) String() string {
	words := []string{o.Do}
	if o.Key != "" {
		words = append(words, o.Key)
	}
	if o.Delay != 0 {
		words = append(words, o.Delay.String())
	}
	return strings.Join(words, " ")
}

// The limiter of both queues. The largest delay is reached at the fifth failure.
const (
	baseDelay = 10 * time.Millisecond
	maxDelay  = 200 * time.Millisecond
)

// queues are client-go's queue and ours, in the same hands.
type queues struct {
	theirs theirs.TypedRateLimitingInterface[string]
	ours   *ours.Queue[string]

	held   []string        // keys that were handed out, by both
	failed map[string]bool // keys that have failed since they were handed out
}

func newQueues() *queues {
	return &queues{
		theirs: theirs.NewTypedRateLimitingQueue(theirs.NewTypedItemExponentialFailureRateLimiter[string](baseDelay, maxDelay)),
		ours:   ours.New(ours.Config[string]{Limiter: ours.Exponential(baseDelay, maxDelay)}),
		failed: map[string]bool{},
	}
}

// do does o to both. A wait or a moment passes, so that no two times are equal.
func (q *queues) do(t *testing.T, o op) (wrong string) {
	t.Helper()
	switch o.Do {
	case "Add":
		q.theirs.Add(o.Key)
		q.ours.Add(o.Key, ours.Cause{})
	case "AddAfter":
		q.theirs.AddAfter(o.Key, o.Delay)
		q.ours.AddAfter(o.Key, o.Delay, ours.Cause{})
	case "AddRateLimited", "AddRateLimitedWithin", "AddTroubled":
		q.fail(o)
	case "Forget":
		q.theirs.Forget(o.Key)
		q.ours.Forget(o.Key)
	case "Get":
		wrong = q.get(t)
	case "Done":
		q.held = slices.DeleteFunc(q.held, func(k string) bool { return k == o.Key })
		q.theirs.Done(o.Key)
		q.ours.Done(o.Key)
	case "ShutDown":
		q.theirs.ShutDown()
		q.ours.ShutDown()
	case "wait":
		time.Sleep(o.Delay)
	default:
		t.Fatalf("no such operation: %v", o)
	}
	time.Sleep(1009 * time.Nanosecond)
	synctest.Wait()
	return wrong
}

// fail is a failure, for which client-go has one word. Ours has three, which say
// the same as long as no bound is met and nobody calls Release.
func (q *queues) fail(o op) {
	q.failed[o.Key] = true
	q.theirs.AddRateLimited(o.Key)
	switch o.Do {
	case "AddRateLimitedWithin":
		q.ours.AddRateLimitedWithin(o.Key, 0, 2*maxDelay, ours.Cause{})
	case "AddTroubled":
		q.ours.AddTroubled(o.Key, 0, 2*maxDelay, ours.Cause{})
	default:
		q.ours.AddRateLimited(o.Key, ours.Cause{})
	}
}

// get takes a key, if there is one to take, or hears that the queue is shut down.
func (q *queues) get(t *testing.T) string {
	t.Helper()
	if q.theirs.Len() == 0 && !q.theirs.ShuttingDown() {
		return ""
	}
	theirKey, over := q.theirs.Get()
	ourKey, _, err := q.ours.Get(t.Context())
	if theirKey != ourKey || over != (err != nil) {
		return fmt.Sprintf("client-go hands out %q (shut down: %t), ours %q (%v)", theirKey, over, ourKey, err)
	}
	if !over {
		q.held = append(q.held, ourKey)
		q.failed[ourKey] = false
	}
	return ""
}

// compare is what shows without taking anything.
func (q *queues) compare() string {
	if their, our := q.theirs.Len(), q.ours.Len(); their != our {
		return fmt.Sprintf("client-go has %d keys ready, ours %d", their, our)
	}
	if q.theirs.ShuttingDown() {
		return "" // client-go counts failures still, of keys that it does not take
	}
	for _, key := range queueKeys {
		if their, our := q.theirs.NumRequeues(key), q.ours.NumRequeues(key); their != our {
			return fmt.Sprintf("client-go counts %d failures of %s, ours %d", their, key, our)
		}
	}
	return ""
}

// perform does the operations, less those that fall under an exception, and
// says what was not equal, or "".
func perform(t *testing.T, ops []op, spare map[queueException]int) (wrong string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		t.Helper()
		q := newQueues()
		defer q.theirs.ShutDown()
		for i, o := range slices.Concat(ops, ending) {
			if x, meant := q.exception(o); meant {
				spare[x]++
				continue
			}
			wrong = q.do(t, o)
			if wrong == "" {
				wrong = q.compare()
			}
			if wrong != "" {
				wrong = fmt.Sprintf("operation %d, %v: %s", i+1, o, wrong)
				return
			}
		}
	})
	return wrong
}

var queueKeys = []string{"a", "b", "c", "d"}

// ending shows what is left, in order: after the longest delay, and shut down.
var ending = slices.Concat(
	[]op{{Do: "wait", Delay: 2 * time.Second}}, everybody("Get"), everybody("Done"),
	[]op{{Do: "wait", Delay: 2 * time.Second}, {Do: "ShutDown"}}, everybody("Get"), everybody("Done"), everybody("Get"),
)

func everybody(do string) (ops []op) {
	for _, key := range queueKeys {
		o := op{Do: do}
		if do != "Get" {
			o.Key = key
		}
		ops = append(ops, o)
	}
	return ops
}

// anyOp draws an operation. A ShutDown is rare, since little happens after it.
func anyOp() *rapid.Generator[op] {
	return rapid.Custom(func(t *rapid.T) op {
		kinds := []string{"Get", "Add", "Done", "AddRateLimited", "AddAfter", "wait", "Forget", "AddRateLimitedWithin", "AddTroubled"}
		o := op{Do: rapid.SampledFrom(kinds).Draw(t, "do")}
		if rapid.IntRange(0, 60).Draw(t, "rare") == 60 {
			o.Do = "ShutDown"
		}
		switch o.Do {
		case "Add", "AddAfter", "AddRateLimited", "AddRateLimitedWithin", "AddTroubled", "Forget", "Done":
			o.Key = rapid.SampledFrom(queueKeys).Draw(t, "key")
		}
		switch o.Do {
		case "AddAfter":
			o.Delay = time.Duration(rapid.IntRange(-1, 100).Draw(t, "ms")) * time.Millisecond
		case "wait":
			o.Delay = time.Duration(rapid.IntRange(1, 100).Draw(t, "ms")) * time.Millisecond
		}
		return o
	})
}

func TestAnyOperationsHandOutTheSameKeysAtTheSameTimes(t *testing.T) {
	spare := map[queueException]int{}
	rapid.Check(t, func(r *rapid.T) {
		ops := rapid.SliceOfN(anyOp(), 1, 80).Draw(r, "operations")
		if wrong := perform(t, ops, spare); wrong != "" {
			r.Fatalf("%s\n%v", wrong, ops)
		}
	})
	for x := range queueStories {
		if spare[x] == 0 {
			t.Errorf("nobody met the exception: %s", x)
		}
	}
}
