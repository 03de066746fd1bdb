package reflector

import (
	"net/http"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"millrace/wire"
)

const half = "shardRange(object.metadata.namespace, '0x0000000000000000', '0x8000000000000000')"

// oneOf is the answer to a probe; a server that selects by shard says so.
func oneOf(shardInfo, items string) answer {
	return answer{send(`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"8","continue":"x"` + shardInfo + `},"items":[` + items + `]}`)}
}

var shardInfo = `,"shardInfo":{"selector":"` + half + `"}`

// A server that selects by shard is asked for the shard from then on.
func TestShardIsAskedForWhereTheServerHasIt(t *testing.T) {
	cfg := Config{ShardSelector: half, LabelSelector: "a=b", Format: wire.Protobuf}
	tell(t, cfg, []answer{
		oneOf(shardInfo, pod("a", "5")),
		{event("ADDED", pod("a", "5")), endOfInitial("9"), quiet(1, "15")},
		{event("ERROR", expiredStatus)},
		{fail(422, noWatchList)},
		{list("20", "c1", pod("a", "5"))},
		{list("20", "")},
	}, func(s *story) {
		s.after(time.Minute, `
			0s LIST shard
			0s sharded: true
			0s WATCHLIST shard
			0s begin
			0s item a@5
			0s commit 9
			1m0s bookmark 15
			1m0s WATCH shard rv=15
			1m0s WATCHLIST shard rv=15
			1m0s LIST shard rv=15
			1m0s begin
			1m0s item a@5
			1m0s LIST shard continue=c1
			1m0s commit 20
			1m0s relisted: expired
			1m0s WATCH shard rv=20
		`)
		want := url.Values{"shardSelector": {half}, "labelSelector": {"a=b"}, "limit": {"1"}}
		if diff := cmp.Diff(want, s.urls[0]); diff != "" {
			s.t.Errorf("the question (-want +got):\n%s", diff)
		}
		if s.accept[0] != "application/json" || s.urls[1].Get("shardSelector") != half {
			s.t.Errorf("Accept %q, then %v", s.accept[0], s.urls[1])
		}
		if !s.r.Status().Sharded {
			s.t.Error("Status.Sharded is false")
		}
	})
}

// A server without the feature, or with its gate off, passes over the parameter
// in silence. It is not asked again, and nothing is asked of it that it would
// do to one list and not to the next.
func TestWithoutShardsEverythingIsStreamed(t *testing.T) {
	for name, reply := range map[string]answer{
		"ignored":  oneOf("", pod("a", "5")),
		"rejected": {fail(400, status(400, "BadRequest", "unknown parameter", ""))},
	} {
		t.Run(name, func(t *testing.T) {
			tell(t, Config{ShardSelector: half}, []answer{
				reply,
				{event("ADDED", pod("a", "5")), endOfInitial("9"), quiet(1, "15"), event("ERROR", expiredStatus)},
				{event("ADDED", pod("a", "5")), endOfInitial("20"), open},
			}, func(s *story) {
				s.after(time.Minute, `
					0s LIST shard
					0s sharded: false
					0s WATCHLIST
					0s begin
					0s item a@5
					0s commit 9
					1m0s bookmark 15
					1m0s WATCHLIST rv=15
					1m0s begin
					1m0s item a@5
					1m0s commit 20
					1m0s relisted: expired
				`)
				if s.r.Status().Sharded {
					s.t.Error("Status.Sharded is true")
				}
			})
		})
	}
}

// Custom resources are selected by servers that do not say so. A sink that drops the
// rest loses nothing if they are not.
func TestAShardIsAskedForWhereTheSinkFilters(t *testing.T) {
	rejects := answer{fail(400, status(400, "BadRequest", "unknown parameter", ""))}
	for _, c := range []struct {
		reply answer
		tells string
	}{{oneOf("", pod("a", "5")), "0s WATCHLIST shard"}, {rejects, "0s WATCHLIST"}} {
		tell(t, Config{ShardSelector: half, ShardFiltered: true}, []answer{c.reply, {event("ADDED", pod("a", "5")), endOfInitial("9"), open}}, func(s *story) {
			s.after(time.Second, `
				0s LIST shard
				0s sharded: false
				`+c.tells+`
				0s begin
				0s item a@5
				0s commit 9
			`)
		})
	}
}

// Trouble is no answer: the question is asked again, and until it is answered
// nothing is listed.
func TestShardQuestionIsAskedUntilItIsAnswered(t *testing.T) {
	tell(t, Config{ShardSelector: half, PagedListOnly: true}, []answer{
		{fail(503, "no")},
		{send("<html>")},
		{fail(404, status(404, "NotFound", "", ""))},
		{send(`{"kind":"PodList"}`)},
		{mute},
		oneOf(shardInfo, ""),
		{list("9", "")},
	}, func(s *story) {
		s.after(3*time.Minute, `
			0s LIST shard
			0s failed 1, wait 800ms
			800ms LIST shard
			800ms failed 2, wait 1.6s
			2.4s LIST shard
			2.4s suspended
			2.4s failed 3, wait 3.2s
			5.6s LIST shard
			5.6s failed 4, wait 6.4s
			12s LIST shard
			1m42s failed 5, wait 12.8s
			1m54.8s LIST shard
			1m54.8s sharded: true
			1m54.8s LIST shard
			1m54.8s begin
			1m54.8s commit 9
			1m54.8s WATCH shard rv=9
		`)
	})
}

// A question that went out by a dead connection is not asked by it again.
func TestShardQuestionLeavesASilentConnection(t *testing.T) {
	var bids []bool
	note := func(_ http.ResponseWriter, r *http.Request) { bids = append(bids, r.Close) }
	tell(t, Config{ShardSelector: half}, []answer{{note, mute}, append(answer{note}, oneOf(shardInfo, "")...), append(answer{note}, synced("9", open)...)}, func(s *story) {
		s.pass(2 * time.Minute)
		if want := []bool{false, true, false}; !slices.Equal(bids, want) {
			s.t.Errorf("the connection was bidden to close: %v, want %v", bids, want)
		}
	})
}
