package certificate

import (
	"crypto/x509"
	"testing"
	"time"
)

const day = 24 * time.Hour

// times are those of a Secret's parts, as ages: when each was made, before now.
type times struct {
	authorities []time.Duration // the last one's key is there
	serving     time.Duration
	by          int           // which authority signed it
	published   time.Duration // how long this replica has seen it so; 0 for not published
}

// made makes contents, as they would be now. Nothing at all is nil.
func made(t *testing.T, now time.Time, cfg Config, m *times) (s seen) {
	t.Helper()
	if m == nil {
		return s
	}
	var pairs []*pair
	for _, age := range m.authorities {
		p, err := newAuthority(now.Add(-age), cfg)
		must(t, err)
		pairs = append(pairs, p)
		s.trusted = append(s.trusted, p.cert)
		s.signer = p
	}
	var err error
	s.serving, err = issue(pairs[m.by], now.Add(-m.serving), cfg)
	must(t, err)
	if m.published > 0 {
		s.published, s.since = now.Add(-m.published), now.Add(-m.published)
	}
	return s
}

func TestPlans(t *testing.T) {
	cfg := Config{DNSName: service}.withDefaults()
	now := time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)
	steady := &times{authorities: []time.Duration{day}, serving: day, published: day}
	for _, c := range []struct {
		name   string
		secret *times
		memory *times
		same   bool // this replica serves with what the Secret has
		change func(*seen)
		want   string
	}{
		{name: "nothing yet", want: "a new authority joins; make a serving certificate"},
		{name: "made, and nobody knows", secret: &times{authorities: []time.Duration{0}}, change: behind(true), want: "serve with what the Secret has; publish to crd"},
		{name: "published", secret: &times{authorities: []time.Duration{0}}, same: true, want: "published from now on"},
		{name: "all is well", secret: steady, same: true, want: "wait"},
		{name: "a replica that starts", secret: steady, want: "serve with what the Secret has"},
		{name: "two thirds of a serving certificate", secret: &times{authorities: []time.Duration{5 * day}, serving: 5 * day, published: 5 * day}, same: true, want: "make a serving certificate"},
		{name: "half of an authority", secret: &times{authorities: []time.Duration{14 * day}, serving: day, published: 14 * day}, same: true, want: "a new authority joins"},
		{name: "it is published", secret: &times{authorities: []time.Duration{14 * day, time.Minute}, serving: day}, same: true, want: "published from now on"},
		{name: "for too short", secret: &times{authorities: []time.Duration{14 * day, time.Hour}, serving: day, published: 4 * time.Minute}, same: true, want: "wait"},
		{name: "for long enough", secret: &times{authorities: []time.Duration{14 * day, time.Hour}, serving: day, published: 5 * time.Minute}, same: true, want: "make a serving certificate"},
		{name: "but it was taken out", secret: &times{authorities: []time.Duration{14 * day, time.Hour}, serving: day, published: 5 * time.Minute}, same: true, change: behind(true), want: "publish to crd; published no more"},
		{name: "an old one has expired", secret: &times{authorities: []time.Duration{29 * day, 14*day - time.Hour}, serving: day, by: 1, published: 10 * day}, same: true, want: "expired authorities leave"},
		{name: "and left", secret: steady, same: true, change: behind(false), want: "publish to crd"},
		{name: "the Secret is gone", memory: steady, want: "trust again who vouches for the certificate in use; put the certificate in use back; a new authority joins"},
		{name: "the key of the authority is gone", secret: steady, same: true, change: func(s *seen) { s.signer = nil }, want: "a new authority joins"},
		{name: "the serving certificate is gone", secret: steady, same: true, change: func(s *seen) { s.serving = nil }, want: "make a serving certificate"},
		{name: "and there is no other", secret: steady, change: func(s *seen) { s.serving = nil }, want: "make a serving certificate"},
		{name: "another Secret has come in its place", secret: steady, memory: &times{authorities: []time.Duration{2 * day}, serving: 2 * day, published: 2 * day}, change: func(s *seen) { s.published = time.Time{} }, want: "trust again who vouches for the certificate in use"},
		{name: "nobody was here for a year", secret: &times{authorities: []time.Duration{365 * day}, serving: 365 * day, published: 365 * day}, want: "a new authority joins; make a serving certificate; expired authorities leave"},
		{name: "made by a clock that is a day ahead", secret: &times{authorities: []time.Duration{-day}, serving: -day, published: time.Hour}, want: "a new authority joins; make a serving certificate"},
		{name: "made by a clock that is a little ahead", secret: &times{authorities: []time.Duration{-90 * time.Minute}, serving: -90 * time.Minute, published: time.Hour}, want: "serve with what the Secret has"},
	} {
		s := made(t, now, cfg, c.secret)
		if c.same {
			s.inUse = s.contents
		}
		if c.memory != nil {
			s.inUse = made(t, now, cfg, c.memory).contents
		}
		if c.change != nil {
			c.change(&s)
		}
		p := planFor(s, now, cfg)
		if p.String() != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, p, c.want)
		}
		if !p.wake.After(now) || p.wake.Sub(now) > cfg.LookAgain {
			t.Errorf("%s: wakes %s", c.name, p.wake)
		}
	}
}

func behind(lacking bool) func(*seen) {
	return func(s *seen) { s.behind, s.lacking = []string{"crd"}, lacking }
}

func TestAServingCertificateDoesNotOutliveItsAuthority(t *testing.T) {
	cfg := Config{DNSName: service}.withDefaults()
	now := time.Now()
	authority, err := newAuthority(now.Add(-27*day), cfg)
	must(t, err)
	p, err := issue(authority, now, cfg)
	must(t, err)
	if !p.cert.NotAfter.Equal(authority.cert.NotAfter) {
		t.Errorf("until %s, its authority until %s", p.cert.NotAfter, authority.cert.NotAfter)
	}
	if trusts([]*x509.Certificate{authority.cert}, p, "other."+service, now) {
		t.Error("it is good for another name")
	}
}
