package webhook

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"strings"
	"time"

	"k8s.io/klog/v2"
)

// linger is how long requests are answered after Serve was told to end: API servers
// need some time to hear that this replica is going. (Its pod leaves the endpoints of
// the Service at the same moment, and who routes by those follows a second later or two.)
const linger = 5 * time.Second

// Serve answers requests over TLS until ctx has ended and, after that, all that are in
// hand or come in the next five seconds. It closes the listener.
func Serve(ctx context.Context, listener net.Listener, handler http.Handler, certificate func(*tls.ClientHelloInfo) (*tls.Certificate, error), trace Trace) error {
	// API servers speak HTTP/1.1 to webhooks, so as to reach all replicas (issue 75791 of
	// kubernetes). Without HTTP/2 nobody has more than one request in a connection.
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	server := &http.Server{
		Handler:   handler,
		Protocols: &protocols,
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS13, GetCertificate: certificate},
		// An API server sends its question at once, and gives a webhook 30 s at most.
		// Whoever takes long to ask is not one.
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		MaxHeaderBytes:    16 << 10,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       2 * time.Minute,
		ErrorLog:          log.New(&errorLog{klog.FromContext(ctx), trace}, "", 0),
	}
	defer server.Close() // of an early return; elsewhere it has ended already
	served := make(chan error, 1)
	go func() { served <- server.ServeTLS(limit(listener, mostConnections), "", "") }()
	select {
	case err := <-served:
		return fmt.Errorf("serve %s: %w", listener.Addr(), err)
	case <-ctx.Done():
	}
	wait := time.NewTimer(linger)
	defer wait.Stop()
	select {
	case err := <-served:
		return fmt.Errorf("serve %s: %w", listener.Addr(), err)
	case <-wait.C:
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), linger)
	defer cancel()
	err := server.Shutdown(ending)
	if errors.Is(err, context.DeadlineExceeded) {
		err = server.Close()
	}
	if gone := <-served; !errors.Is(gone, http.ErrServerClosed) {
		err = errors.Join(err, gone)
	}
	return err
}

// errorLog is where net/http writes what it has no other place for: one line each.
type errorLog struct {
	logger klog.Logger
	trace  Trace
}

// Write implements io.Writer. Whoever scans ports fills this log, so it is quiet; that
// an API server does not trust the certificate is counted.
func (l *errorLog) Write(line []byte) (int, error) {
	if strings.Contains(string(line), "TLS handshake error") && l.trace.HandshakeFailed != nil {
		l.trace.HandshakeFailed()
	}
	l.logger.V(2).Info("the webhook's server", "says", strings.TrimSpace(string(line)))
	return len(line), nil
}
