package certificate

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
)

// Secrets are those of the namespace of the install, on the server: nothing here is
// ever read from a cache.
type Secrets interface {
	Get(ctx context.Context, name string, opts metav1.GetOptions) (*corev1.Secret, error)
	Create(ctx context.Context, secret *corev1.Secret, opts metav1.CreateOptions) (*corev1.Secret, error)
	Update(ctx context.Context, secret *corev1.Secret, opts metav1.UpdateOptions) (*corev1.Secret, error)
}

// A Holder is an object whose caBundle tells the API server whom to trust.
type Holder struct {
	Resource, Name  string
	ResourceVersion string
	// Bundles are PEM, in the order in which Publish is to replace them.
	Bundles []Bundle
}

// A Bundle is one caBundle of a Holder: a configuration has one for each webhook.
type Bundle struct {
	Path string // in the object, as a JSON pointer
	PEM  []byte
}

func (h Holder) String() string { return h.Resource + "/" + h.Name }

// Holders knows who holds a caBundle of ours.
type Holders interface {
	// List is as the caches have it. What is not there, or is somebody else's, is not
	// in it.
	List() ([]Holder, error)
	// Publish replaces the bundles of a Holder that is still as it was listed; else the
	// error is a conflict (apierrors.IsConflict).
	Publish(ctx context.Context, h Holder, bundle []byte) error
}

// A Keeper is one replica's part in keeping the certificate.
type Keeper struct {
	cfg     Config
	secrets Secrets
	holders Holders

	mu        sync.RWMutex
	inUse     contents         // what this replica serves with: its serving certificate is nil at first
	serving   *tls.Certificate // that of inUse
	published bool             // has been, once, since the process began

	now func() time.Time // time.Now, but for tests of clocks that are wrong

	// The following are Reconcile's own.
	lastPublished time.Time // as it was last read
	since         time.Time // when it was first read so
}

// New makes a Keeper, and does nothing.
func New(cfg Config, secrets Secrets, holders Holders) *Keeper {
	return &Keeper{cfg: cfg.withDefaults(), secrets: secrets, holders: holders, now: time.Now}
}

// afterAWrite is when the Secret is looked at again after it was written, even if no
// watch tells of it.
const afterAWrite = time.Second

// Reconcile looks, and does what there is to do. It returns after how much time to
// call it again without news; an error is one of the API server's, wrapped, and after
// a conflict it is to be called again soon.
//
// The holders are looked at first, then the Secret, and that on the server: so the
// Secret is not older than what any holder has, and a holder that is behind it is
// written only if nobody has written it since that look. Therefore no bundle goes
// back to what it was, however slow a replica is. It must not be called by two
// goroutines at once.
func (k *Keeper) Reconcile(ctx context.Context) (time.Duration, error) {
	holders, err := k.holders.List()
	if err != nil {
		return 0, fmt.Errorf("list the holders of a caBundle: %w", err)
	}
	secret, err := k.secrets.Get(ctx, k.cfg.SecretName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		secret, err = nil, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read Secret %s: %w", k.cfg.SecretName, err)
	}
	now := k.now()
	s := k.look(read(secret), holders, now)
	p := planFor(s, now, k.cfg)
	klog.FromContext(ctx).V(4).Info("certificate", "plan", p.String(), "until", p.wake)
	if p.adopt {
		k.adopt(s.contents)
	}
	if len(s.behind) == 0 && s.usable(now, k.cfg) {
		k.reached()
	}
	if p.changesSecret() {
		changed, err := k.change(ctx, s, p, now)
		if err != nil {
			return 0, err
		}
		return afterAWrite, k.write(ctx, secret, changed)
	}
	if len(p.publish) == 0 {
		return p.wake.Sub(now), nil
	}
	if err := k.publish(ctx, s, holders); err != nil {
		return 0, err
	}
	if p.forget {
		s.published = time.Time{}
		return afterAWrite, k.write(ctx, secret, s.contents)
	}
	return afterAWrite, nil
}

// look puts together what is known.
func (k *Keeper) look(c contents, holders []Holder, now time.Time) seen {
	if k.since.IsZero() || !c.published.Equal(k.lastPublished) {
		k.lastPublished, k.since = c.published, now
	}
	k.mu.RLock()
	defer k.mu.RUnlock()
	s := seen{contents: c, inUse: k.inUse, since: k.since}
	for _, h := range holders {
		behind, lacking := compare(h, c.trusted)
		if behind {
			s.behind = append(s.behind, h.String())
		}
		s.lacking = s.lacking || lacking
		s.known = union(s.known, k.cfg.ours(h, now))
	}
	return s
}

// ours are the authorities of a holder that may have been made by a Keeper, and have
// not expired.
func (c Config) ours(h Holder, now time.Time) (certs []*x509.Certificate) {
	for _, b := range h.Bundles {
		certs = union(certs, slices.DeleteFunc(authorities(b.PEM), func(cert *x509.Certificate) bool {
			return cert.Subject.CommonName != authorityName || outlived(cert, now, c) || cert.NotAfter.After(now.Add(c.AuthorityLifetime+c.Skew))
		}))
	}
	return certs
}

// compare tells whether a holder has other bundles than it should, and whether one of
// the authorities is missing there.
func compare(h Holder, trusted []*x509.Certificate) (behind, lacking bool) {
	for _, b := range h.Bundles {
		if bytes.Equal(b.PEM, bundle(trusted)) {
			continue
		}
		behind = true
		has := certificates(b.PEM)
		lacking = lacking || slices.ContainsFunc(trusted, func(c *x509.Certificate) bool {
			return !slices.ContainsFunc(has, c.Equal)
		})
	}
	return behind, lacking
}

// change makes the contents that the plan wants in the Secret.
func (k *Keeper) change(ctx context.Context, s seen, p plan, now time.Time) (c contents, err error) {
	c = s.contents
	if len(c.trusted) == 0 { // other replicas may serve with what those have signed
		c.trusted = s.known
	}
	if p.cover || p.rescue {
		c.trusted = union(s.inUse.trusted, c.trusted)
		c.published = time.Time{}
	}
	if p.rescue {
		c.serving = s.inUse.serving
	}
	if p.leave {
		c.trusted = slices.DeleteFunc(slices.Clone(c.trusted), func(cert *x509.Certificate) bool { return outlived(cert, now, k.cfg) })
	}
	if p.authority {
		if c.signer, err = newAuthority(now, k.cfg); err != nil {
			return c, err
		}
		c.trusted = append(slices.Clone(c.trusted), c.signer.cert)
		c.published = time.Time{}
	}
	if p.serve {
		if c.serving, err = issue(c.signer, now, k.cfg); err != nil {
			return c, err
		}
	}
	if p.published {
		c.published = now
	}
	klog.FromContext(ctx).V(1).Info("the webhook's certificate changes", "plan", p.String())
	return c, nil
}

// union has the older ones first, so that the signer's stays the last.
func union(older, trusted []*x509.Certificate) []*x509.Certificate {
	only := slices.DeleteFunc(slices.Clone(older), func(c *x509.Certificate) bool {
		return slices.ContainsFunc(trusted, c.Equal)
	})
	return append(only, trusted...)
}

// write creates the Secret, or updates it if it is as it was read.
func (k *Keeper) write(ctx context.Context, secret *corev1.Secret, c contents) (err error) {
	create := secret == nil
	if create {
		secret = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: k.cfg.SecretName}, Type: corev1.SecretTypeTLS}
	}
	if err := c.write(secret); err != nil {
		return fmt.Errorf("write Secret %s: %w", k.cfg.SecretName, err)
	}
	if create {
		_, err = k.secrets.Create(ctx, secret, metav1.CreateOptions{})
	} else {
		_, err = k.secrets.Update(ctx, secret, metav1.UpdateOptions{})
	}
	if err != nil {
		return fmt.Errorf("write Secret %s: %w", k.cfg.SecretName, err)
	}
	return nil
}

// publish writes all that are behind, and does not stop at one that cannot be.
func (k *Keeper) publish(ctx context.Context, s seen, holders []Holder) error {
	var failed []error
	for _, h := range holders {
		if !slices.Contains(s.behind, h.String()) {
			continue
		}
		if err := k.holders.Publish(ctx, h, bundle(s.trusted)); err != nil {
			failed = append(failed, fmt.Errorf("publish the caBundle of %s: %w", h, err))
		}
	}
	return errors.Join(failed...)
}

func (k *Keeper) adopt(c contents) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.inUse.serving == nil || !k.inUse.serving.cert.Equal(c.serving.cert) {
		k.serving = c.serving.forTLS()
	}
	c.signer = nil // memory needs no key that the Secret has
	k.inUse = c
}

func (k *Keeper) reached() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.published = true
}

// Certificate is the one to present, for tls.Config's GetCertificate.
func (k *Keeper) Certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	if k.serving == nil {
		return nil, errors.New("no serving certificate yet")
	}
	return k.serving, nil
}

// Expires is when the certificate in use does; zero while there is none.
func (k *Keeper) Expires() time.Time {
	k.mu.RLock()
	defer k.mu.RUnlock()
	if k.serving == nil {
		return time.Time{}
	}
	return k.serving.Leaf.NotAfter
}

// Ready is nil while this replica can serve: it has a certificate that has not expired
// by anybody's clock, and has seen whom to trust published everywhere once.
func (k *Keeper) Ready() error {
	expires := k.Expires()
	k.mu.RLock()
	defer k.mu.RUnlock()
	switch {
	case expires.IsZero():
		return errors.New("the webhook has no certificate yet")
	case k.now().After(expires.Add(-k.cfg.Skew)):
		return fmt.Errorf("the webhook's certificate expires at %s", expires)
	case !k.published:
		return errors.New("the webhook's caBundle is not published everywhere yet")
	default:
		return nil
	}
}
