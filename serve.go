package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"millrace/reconcile"
)

// probes are what a kubelet asks: may this replica be sent to, and must it be made
// anew? Neither asks the API server: that it is away is no reason to restart a
// program whose caches will be right again as soon as it is back.
type probes struct{ ready, live func() error }

// serve answers /metrics, /healthz and /readyz, by the probes of the moment, until ctx ends.
func serve(ctx context.Context, listener net.Listener, metrics http.Handler, now func() *probes) error {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metrics)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { answer(w, now().live()) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) { answer(w, now().ready()) })
	server := &http.Server{
		Handler:           mux,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       5 * time.Second, // of a body, which nobody needs
		IdleTimeout:       2 * time.Minute, // Prometheus asks each minute where nobody says otherwise
		MaxHeaderBytes:    16 << 10,
		// A client that does not read its metrics must not keep them.
		WriteTimeout: 30 * time.Second,
	}
	defer context.AfterFunc(ctx, func() { server.Close() })()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve %s: %w", listener.Addr(), err)
	}
	return nil
}

func answer(w http.ResponseWriter, err error) {
	code, text := http.StatusOK, "ok"
	if err != nil {
		code, text = http.StatusServiceUnavailable, err.Error()
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	io.WriteString(w, text+"\n") //nolint:errcheck // who asked has gone
}

// readiness is nil while the program is not stopping and its caches have had
// their first list: then this replica can lead. The error names what is missing.
func readiness(ctx context.Context, chains ...chain) func() error {
	return func() error {
		if ctx.Err() != nil {
			return errors.New("stopping")
		}
		missing := slices.DeleteFunc(slices.Clone(chains), synced)
		if len(missing) == 0 {
			return nil
		}
		names := make([]string, len(missing))
		for i, c := range missing {
			names[i] = c.Name()
		}
		return fmt.Errorf("waiting for the first list of %s", strings.Join(names, ", "))
	}
}

func synced(c chain) bool {
	select {
	case <-c.Synced():
		return true
	default:
		return false
	}
}

// unheard is how long an entry may wait for its store before the store is dead. A
// first list of fifty thousand objects takes seconds.
const unheard = 5 * time.Minute

// liveness is nil while every part moves that should: the loops of the reflectors,
// the stores behind them, and the workers. What only a new process can mend makes it
// fail; an outage of the API server, however long, does not.
func liveness(chains []chain, pools ...*reconcile.Pool) func() error {
	return func() error {
		dead := make([]error, 0, 2*len(chains)+len(pools))
		for _, c := range chains {
			dead = append(dead, c.source.Stuck(), storeStuck(c))
		}
		for _, p := range pools {
			dead = append(dead, p.Stuck())
		}
		return errors.Join(dead...)
	}
}

func storeStuck(c chain) error {
	if since, ok := c.fifo.Oldest(); ok && time.Since(since) > unheard {
		return fmt.Errorf("news of %s have waited for %v to be taken into the store", c.Name(), time.Since(since).Round(time.Second))
	}
	return nil
}
