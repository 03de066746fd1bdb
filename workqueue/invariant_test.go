package workqueue

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"
)

// inOrder checks what the fields of Queue and entry say of themselves.
func (q *Queue[K]) inOrder(t *testing.T) {
	t.Helper()
	q.mu.Lock()
	defer q.mu.Unlock()
	var counts [states]int
	keys, troubled, tenants := 0, 0, map[*tenant[K]]int{}
	for _, e := range q.keys.entries {
		if e == nil {
			continue
		}
		keys++
		counts[e.state()]++
		tenants[e.tenant]++
		if e.wish.floor > 0 && e.hold == nil {
			troubled++
		}
		switch {
		case q.keys.find(e.key, e.hash) != e:
			t.Fatalf("%v is in the table and not found", e.key)
		case e.state() == Idle && (e.causes != nil || e.later != nil):
			t.Fatalf("%v is idle and has causes", e.key)
		case e.later != nil && !e.wish.delayed(), e.wish.floor > 0 && e.wish.state != BackingOff:
			t.Fatalf("%v has kept something of a backoff that is over: %+v", e.key, e.wish)
		}
	}
	if keys != q.keys.n || counts != q.counts {
		t.Fatalf("%d keys in states %v; the queue says %d in %v", keys, counts, q.keys.n, q.counts)
	}
	for place, n := range map[string][2]int{
		"idle":     {q.rested.n + q.remembered.n, counts[Idle]},
		"ready":    {q.ready.len(), counts[Ready]},
		"delayed":  {len(q.delayed), counts[Waiting] + counts[BackingOff]},
		"at work":  {q.working.n, counts[Processing] + counts[Dirty]},
		"troubled": {q.troubled.n, troubled},
	} {
		if n[0] != n[1] {
			t.Fatalf("%d keys hang among those that are %s, where %d should", n[0], place, n[1])
		}
	}
	lined := 0
	for _, tenant := range q.ready.tenants {
		lined += tenant.line[news].len() + tenant.line[low].len()
	}
	if lined != counts[Ready] {
		t.Fatalf("%d keys stand in line, and %d are ready", lined, counts[Ready])
	}
	for tenant, n := range tenants {
		if tenant.keys != n || q.ready.tenants[tenant.name] != tenant {
			t.Fatalf("tenant %q has %d keys, and says %d", tenant.name, n, tenant.keys)
		}
	}
	if len(tenants) != len(q.ready.tenants) {
		t.Fatalf("%d tenants have keys, %d are known", len(tenants), len(q.ready.tenants))
	}
	if len(q.delayed) > 0 && (!q.alarm.set || q.alarm.at > q.delayed[0].wish.due) {
		t.Fatalf("the first key is due at %d, the alarm is %+v", q.delayed[0].wish.due, q.alarm)
	}
}

// A key hangs in one place, whatever is done to it, also where there are so many
// that idle ones make room for others, which the model does not reach.
func TestEveryKeyHangsInOnePlace(t *testing.T) {
	const keys, steps, hands = 4 * keepIdle, 60_000, 300
	synctest.Test(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(1, 2))
		q := New(Config[int]{Namespace: func(k int) string { return fmt.Sprint(k % 500) }, MaxRemembered: 300})
		held := map[int]bool{}
		for step := range steps {
			k, c := r.IntN(keys), Cause{Source: "test", Event: fmt.Sprint(r.IntN(12))}
			if r.IntN(3) == 0 {
				k %= 50 // some that come often
			}
			d := time.Duration(r.IntN(2000)) * time.Millisecond
			switch r.IntN(11) {
			case 0, 1:
				q.Add(k, c)
			case 2:
				q.AddLow(k, c)
			case 3:
				q.AddUrgent(k, c)
			case 4:
				q.AddAfter(k, d, c)
			case 5:
				q.AddRateLimited(k, c)
			case 6:
				q.AddTroubled(k, d, 30*time.Second, c)
			case 7:
				q.Release(r.IntN(5), d/100)
			case 8:
				q.Reset(k)
			case 9:
				q.Forget(k)
			case 10:
				time.Sleep(d / 100)
				synctest.Wait()
			}
			for q.Len() > 0 && r.IntN(3) > 0 {
				k, _, err := q.Get(t.Context())
				if err != nil || held[k] {
					t.Fatalf("Get = %d, %v; a worker has it: %v", k, err, held[k])
				}
				held[k] = true
			}
			if len(held) > hands {
				for k := range held {
					q.Done(k)
				}
				clear(held)
			}
			if step%500 == 0 {
				q.inOrder(t)
			}
		}
		q.ShutDown()
		q.inOrder(t)
	})
}
