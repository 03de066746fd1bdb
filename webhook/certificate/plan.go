package certificate

import (
	"crypto/x509"
	"slices"
	"strings"
	"time"
)

// seen is what a replica knows when it plans.
type seen struct {
	contents

	inUse   contents  // what this replica serves with, and whom that was trusted by; may be empty
	since   time.Time // when this replica first saw published as it is: clocks of two are never compared
	behind  []string  // holders whose caBundle is another than ca.crt
	lacking bool      // one of them lacks an authority, and not only has one too many

	known []*x509.Certificate // authorities of ours that holders have
}

// A plan is what to do next. What changes the Secret comes first and alone: the
// holders get what the Secret has, never what it is to have.
type plan struct {
	cover     bool // those who vouch for the certificate in use are to be trusted again
	rescue    bool // and that certificate goes back into the Secret
	authority bool // a new one joins, and its key replaces the other's
	serve     bool // a serving certificate of the youngest authority is made
	leave     bool // expired authorities are taken out
	published bool // every holder has all of ca.crt from now on

	publish []string
	forget  bool // after that: they had not had it

	adopt bool      // serve with what the Secret has
	wake  time.Time // when there is something to do without any news
}

// changesSecret tells whether the Secret is to be written, before all else.
func (p plan) changesSecret() bool {
	return p.cover || p.rescue || p.authority || p.serve || p.leave || p.published
}

func (p plan) String() string {
	var words []string
	for _, part := range []struct {
		is   bool
		what string
	}{
		{p.adopt, "serve with what the Secret has"},
		{p.cover, "trust again who vouches for the certificate in use"},
		{p.rescue, "put the certificate in use back"},
		{p.authority, "a new authority joins"},
		{p.serve, "make a serving certificate"},
		{p.leave, "expired authorities leave"},
		{p.published, "published from now on"},
		{len(p.publish) > 0, "publish to " + strings.Join(p.publish, ", ")},
		{p.forget, "published no more"},
	} {
		if part.is {
			words = append(words, part.what)
		}
	}
	if len(words) == 0 {
		return "wait"
	}
	return strings.Join(words, "; ")
}

// planFor decides. It is pure: what it says depends on its arguments alone.
func planFor(s seen, now time.Time, c Config) (p plan) {
	inUse := s.inUse.usable(now, c)
	served, settled := s.usable(now, c), s.settled(now, c)
	signs := s.signs(now, c)

	p.adopt = served && !s.same(s.inUse) && (!inUse || settled || s.serving.cert.Equal(s.inUse.serving.cert))
	p.cover = inUse && !p.adopt && !contents{trusted: s.trusted, serving: s.inUse.serving}.usable(now, c)
	p.rescue = inUse && !served && !(signs && settled)
	p.authority = !signs
	p.leave = slices.ContainsFunc(s.trusted, func(cert *x509.Certificate) bool { return outlived(cert, now, c) })
	switch {
	case p.rescue: // the next one is made when its authority is published
	case !served: // nobody can be served: there is nothing to wait for
		p.serve = true
	case signs && settled && s.due(now, c):
		p.serve = true
	}
	p.published = !p.changesSecret() && len(s.behind) == 0 && s.published.IsZero()
	if !p.changesSecret() {
		p.publish = s.behind
		p.forget = s.lacking && !s.published.IsZero()
	}
	p.wake = s.next(now, c)
	return p
}

// usable tells whether a client that trusts as the contents say is served. What
// another replica has just made may not be valid yet by this one's clock.
func (c contents) usable(now time.Time, cfg Config) bool {
	return trusts(c.trusted, c.serving, cfg.DNSName, now) || trusts(c.trusted, c.serving, cfg.DNSName, now.Add(cfg.Skew))
}

// same tells whether others serve with the same, and are trusted by the same.
func (c contents) same(other contents) bool {
	return c.serving != nil && other.serving != nil && c.serving.cert.Equal(other.serving.cert) &&
		slices.EqualFunc(c.trusted, other.trusted, (*x509.Certificate).Equal)
}

// signs tells whether the youngest authority has enough of its time left, and began
// it by anybody's clock.
func (c contents) signs(now time.Time, cfg Config) bool {
	return c.signer != nil && c.signer.cert.NotAfter.Sub(now) > cfg.authorityMargin() && !c.signer.cert.NotBefore.After(now.Add(cfg.Skew))
}

// due tells whether the serving certificate should be replaced: it nears its end, or
// there is a younger authority than its own.
func (c contents) due(now time.Time, cfg Config) bool {
	return c.serving.cert.CheckSignatureFrom(c.signer.cert) != nil || c.serving.cert.NotAfter.Sub(now) <= cfg.servingMargin()
}

// settled tells whether every API server has had the time to hear of all authorities.
func (s seen) settled(now time.Time, c Config) bool {
	return !s.lacking && !s.published.IsZero() && now.Sub(s.since) >= c.Propagation
}

// outlived tells whether an authority has expired by the slowest clock.
func outlived(cert *x509.Certificate, now time.Time, c Config) bool {
	return now.After(cert.NotAfter.Add(c.Skew))
}

// next is the earliest moment at which the same look would give another plan.
func (s seen) next(now time.Time, c Config) time.Time {
	at := []time.Time{now.Add(c.LookAgain)}
	if s.signer != nil {
		at = append(at, s.signer.cert.NotAfter.Add(-c.authorityMargin()))
	}
	if s.serving != nil {
		at = append(at, s.serving.cert.NotAfter.Add(-c.servingMargin()), s.serving.cert.NotAfter)
	}
	if !s.published.IsZero() {
		at = append(at, s.since.Add(c.Propagation))
	}
	for _, cert := range s.trusted {
		at = append(at, cert.NotAfter.Add(c.Skew))
	}
	at = slices.DeleteFunc(at, func(t time.Time) bool { return !t.After(now) })
	return slices.MinFunc(at, time.Time.Compare)
}
