package main

import (
	"context"
	"fmt"
	"time"

	"millrace/bench/ours"
	"millrace/bench/peer"
	"millrace/bench/server"
)

// side is one of the two that are compared.
type side string

const (
	us   side = "ours"
	them side = "peer"
)

// chain is what either side makes of a server's answers.
type chain interface {
	// Synced waits until the first list has become keys.
	Synced(ctx context.Context) error
	// Reached waits until all up to a resourceVersion has.
	Reached(ctx context.Context, version string) error
	// Calls is how often the handler was called.
	Calls() int64
	// Len is how many objects the store has.
	Len() int
	Stop() error
}

// start starts a chain of one side.
func (s side) start(ctx context.Context, on *server.Server) (chain, error) {
	if s == us {
		return ours.Start(ctx, on.URL, on.Resource)
	}
	return peer.Start(ctx, on.URL, on.Resource)
}

// patience is how long a chain may take for anything.
const patience = 2 * time.Minute

// synced starts a chain and waits for its first list.
func (s side) synced(ctx context.Context, on *server.Server) (chain, error) {
	c, err := s.start(ctx, on)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := c.Synced(ctx); err != nil {
		return nil, err
	}
	if n := c.Len(); n != on.Objects {
		return nil, fmt.Errorf("%s have %d objects, the server has %d", s, n, on.Objects)
	}
	return c, nil
}
