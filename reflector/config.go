package reflector

import (
	"context"
	"math/rand/v2"
	"time"

	"millrace/wire"
)

// Config says what to reflect and how patiently. Its zero value reflects every
// object of the resource in all namespaces, as JSON, without resyncs.
type Config struct {
	// Namespace narrows to one namespace. Default: all.
	Namespace string
	// LabelSelector and FieldSelector narrow on the server, in the API's
	// syntax. Default: everything. An object that stops matching looks
	// deleted, so act on an absence only after a GET by name.
	LabelSelector, FieldSelector string
	// ShardSelector narrows to a part of the objects by a hash (KEP-5866), as in
	// shardRange(object.metadata.namespace, '0x0000000000000000', '0x8000000000000000').
	// The server is asked once in a Run whether it can; where it cannot, everything
	// is reflected. Status.Sharded and Trace.Sharded say which it is. They say it of
	// the server that was asked: with replicas of several versions, and across an
	// upgrade, filter here as well. Default: everything.
	ShardSelector string
	// ShardFiltered: the sink drops by itself what is not of the shard. So the server is
	// asked for the shard although it does not say that it can, as long as it does not
	// reject the question: API servers select custom resources by shard, and do not say
	// so (1.37). Default false.
	ShardFiltered bool
	// Format is what is asked for with Accept. A server that has no protobuf of
	// this resource answers in JSON, and that is read as well. Default wire.JSON,
	// which every resource has.
	Format wire.Format
	// DropManagedFields asks the server to leave metadata.managedFields out
	// (KEP-5958), which saves its work and the network's. One that does not know
	// how to, as up to 1.37, sends them all the same; one that refuses to be asked
	// (406) is asked without. Default false.
	DropManagedFields bool

	// Kind is what every object is, as "Pod". One of another kind, which something
	// between the server and here has put in its place, is not taken in, even if it
	// has the name. Default: nobody looks.
	Kind string

	// Facets are the values that the scan takes out of each object, so that who
	// reads the cache need not decode for them. Default: none.
	Facets []wire.Facet

	// PageSize is the number of objects asked for with one request of a paged
	// list. Default 500, as every client's, which servers are tuned for.
	// Negative: the whole list in one answer.
	PageSize int64
	// PagedListOnly never tries a watch-list. Default false: the server is
	// asked, and its answer remembered.
	PagedListOnly bool

	// Room is called before each Item, and may wait until the sink has room for it; it
	// returns when ctx ends. While it waits nothing is read, and neither the silence nor
	// the time is held against the server. That may end a streaming list all the same,
	// where more changes come meanwhile than it keeps for one watch: then what is left is
	// asked for in pages. Default: nobody waits.
	Room func(ctx context.Context)

	// WatchTimeout: the server is asked to end each watch after a random time
	// between this and twice this, so that watches spread over its replicas
	// again after one of them was restarted. Default 5 min.
	WatchTimeout time.Duration
	// SilenceTimeout is how long nothing at all may come from the server, be
	// it the answer to a request or the next piece of it, before the
	// connection is taken for dead. Default 90 s: bookmarks come once a
	// minute, and a server ends any other request by itself after 60 s.
	SilenceTimeout time.Duration
	// HealthyAfter is how long a watch must have lasted to be called well: it
	// resets the backoff, and its end is followed by another at once. Default
	// 5 s.
	HealthyAfter time.Duration
	// Backoff are the pauses after failures.
	Backoff Backoff
	// Pulse is shared by those who talk to one server: the first that is answered
	// after an outage wakes the others. Default: each finds out by itself.
	Pulse *Pulse

	// ResyncPeriod is how often the sink is asked to replay what it knows,
	// beginning with the first list. Zero: never. See Sink.Resync for what
	// this is not.
	ResyncPeriod time.Duration

	// Rand is the source of jitter, used by the goroutine of Run alone.
	// Default: seeded by the system. A simulation hands in its own.
	Rand rand.Source
	// Trace is told what happens.
	Trace Trace
}

func (c Config) withDefaults() Config {
	if c.Format == 0 {
		c.Format = wire.JSON
	}
	if c.PageSize == 0 {
		c.PageSize = 500
	}
	c.WatchTimeout = orDefault(c.WatchTimeout, 5*time.Minute)
	c.SilenceTimeout = orDefault(c.SilenceTimeout, 90*time.Second)
	c.HealthyAfter = orDefault(c.HealthyAfter, 5*time.Second)
	c.Backoff = c.Backoff.withDefaults()
	if c.Rand == nil {
		c.Rand = rand.NewPCG(rand.Uint64(), rand.Uint64())
	}
	return c
}

func orDefault(d, otherwise time.Duration) time.Duration {
	if d <= 0 {
		return otherwise
	}
	return d
}
