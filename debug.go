package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	authentication "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorization "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"millrace/internal/guard"
)

// serveDebug serves /debug until ctx ends. People look there; so that the address
// is taken, or that nobody may be asked about them, is logged, and no reason to end.
func serveDebug(ctx context.Context, cfg config, rc *rest.Config, on machine, pages http.Handler) error {
	if cfg.debugBind == "" {
		return nil
	}
	err := func() error {
		listener, err := on.listen(ctx, "tcp", cfg.debugBind)
		if err != nil {
			return err
		}
		defer listener.Close() // the server has closed it already, if there was one
		guarded, err := guardOf(rc)
		if err != nil {
			return err
		}
		// No WriteTimeout: the live page has no end, and sees to its own patience.
		server := &http.Server{
			Handler:           guarded.Wrap(pages),
			ReadHeaderTimeout: 5 * time.Second,
			IdleTimeout:       2 * time.Minute,
			MaxHeaderBytes:    32 << 10, // whose token is longer has none
			BaseContext:       func(net.Listener) context.Context { return ctx },
		}
		defer context.AfterFunc(ctx, func() { server.Close() })()
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	}()
	if err != nil {
		klog.FromContext(ctx).Error(fmt.Errorf("--debug-bind-address=%s: %w", cfg.debugBind, err), "Nothing is served at /debug")
	}
	return nil
}

// Questions about who may see /debug are the controller's own to the API server, which
// shares what it has among its users fairly: strangers with made-up tokens, each another,
// must not use up the controller's part. Those who look on cost two in ten seconds.
const questionsPerSecond, questionsAtOnce = 5, 20

// guardOf asks the API server who may see /debug. Its questions wait for nobody else's,
// and nobody waits behind them. What would have to wait for longer than the guard's
// patience is not asked at all.
func guardOf(rc *rest.Config) (*guard.Guard, error) {
	rc = rest.CopyConfig(rc)
	rc.UserAgent, rc.QPS, rc.Burst, rc.RateLimiter = "millrace/"+version, questionsPerSecond, questionsAtOnce, nil
	tokens, err := authentication.NewForConfig(rc)
	if err != nil {
		return nil, fmt.Errorf("client of authentication.k8s.io/v1: %w", err)
	}
	access, err := authorization.NewForConfig(rc)
	if err != nil {
		return nil, fmt.Errorf("client of authorization.k8s.io/v1: %w", err)
	}
	return guard.New(tokens.TokenReviews(), access.SubjectAccessReviews()), nil
}
