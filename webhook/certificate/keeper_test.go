package certificate

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestTheFirstReplicaMakesWhatIsMissing(t *testing.T) {
	c := newCluster(t)
	r := c.replica(Config{}, 0)
	if err := r.Ready(); err == nil || !strings.Contains(err.Error(), "no certificate") {
		t.Errorf("before it has looked: %v", err)
	}
	if _, err := r.Certificate(nil); err == nil {
		t.Error("it presents a certificate that it does not have")
	}
	if err := r.step(); err != nil {
		t.Fatal(err)
	}
	if err := r.step(); err != nil { // which publishes; its cache does not show that yet
		t.Fatal(err)
	}
	if err := r.Ready(); err == nil || !strings.Contains(err.Error(), "published") {
		t.Errorf("before everybody trusts it: %v", err)
	}
	r.settle()
	if err := r.Ready(); err != nil {
		t.Error(err)
	}
	if refused := r.refused(0); len(refused) > 0 {
		t.Errorf("refused by %v", refused)
	}
	if got := read(c.secret); got.signer == nil || got.serving == nil || len(got.trusted) != 1 || !got.published.Equal(c.clock) {
		t.Errorf("in the Secret: %+v", got)
	}
	if c.secret.Type != corev1.SecretTypeTLS {
		t.Errorf("the Secret is of type %s", c.secret.Type)
	}
	if want := c.clock.Add(7 * 24 * time.Hour); !r.Expires().Equal(want) {
		t.Errorf("it expires at %s, want %s", r.Expires(), want)
	}
}

func TestTheSecondReplicaTakesWhatTheFirstHasMade(t *testing.T) {
	c := newCluster(t)
	first, second := c.replica(Config{}, 0), c.replica(Config{}, 0)
	first.settle()
	writes := c.writes
	second.settle()
	one, _ := first.Certificate(nil)
	two, _ := second.Certificate(nil)
	if !one.Leaf.Equal(two.Leaf) || c.writes != writes {
		t.Errorf("the second wrote %d times, or serves with something else", c.writes-writes)
	}
}

func TestOfTwoWhoBeginAtOnceOneWins(t *testing.T) {
	c := newCluster(t)
	one, two := c.replica(Config{}, 0), c.replica(Config{}, 0)
	// Both find no Secret: the second one's look is from before the first one's write.
	secrets := &raced{cluster: c, meanwhile: func() { must(t, one.step()) }}
	two.secrets = secrets
	if err := two.step(); !apierrors.IsAlreadyExists(err) {
		t.Fatalf("the one who came late: %v", err)
	}
	one.settle()
	two.settle()
	shown, _ := one.Certificate(nil)
	also, _ := two.Certificate(nil)
	if !shown.Leaf.Equal(also.Leaf) {
		t.Error("they serve with different certificates")
	}
}

// raced lets something happen between a look and what follows it, once.
type raced struct {
	*cluster

	meanwhile func()
}

func (r *raced) Get(ctx context.Context, name string, o metav1.GetOptions) (*corev1.Secret, error) {
	s, err := r.cluster.Get(ctx, name, o)
	if happens := r.meanwhile; happens != nil {
		r.meanwhile = nil
		happens()
	}
	return s, err
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// The whole of it: replicas that are late, restarted, cut off and wrong about the time,
// API servers that are late and wrong about it as well, and a Secret that is deleted
// and spoilt, for three months. No ready replica is ever refused.
func TestAClientThatTrustsWhatIsPublishedIsNeverRefused(t *testing.T) {
	for seed := range uint64(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { aQuarter(t, seed) })
	}
}

func aQuarter(t *testing.T, seed uint64) {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 7))
	c := newCluster(t)
	c.broken = func() error {
		if random.IntN(20) == 0 {
			return errors.New("the server is away")
		}
		return nil
	}
	patient := Config{LookAgain: 6 * time.Hour}
	skews := []time.Duration{0, 29 * time.Minute, -29 * time.Minute}
	var replicas []*replica
	for _, skew := range skews {
		replicas = append(replicas, c.replica(patient, skew))
	}
	born := c.clock
	cutOff := map[*replica]time.Time{} // until when
	asked, refused, authorities, servings := 0, 0, map[string]bool{}, map[string]bool{}
	nextTrouble := c.clock.Add(24 * time.Hour)
	for end := c.clock.Add(90 * 24 * time.Hour); c.clock.Before(end); {
		for _, r := range replicas {
			if c.clock.Before(cutOff[r]) || r.wake.After(c.clock) {
				continue
			}
			if random.IntN(4) > 0 {
				r.sync()
			}
			if err := r.step(); err != nil && random.IntN(2) == 0 {
				r.sync()
			}
		}
		for _, r := range replicas {
			if r.Ready() != nil || c.clock.Sub(born) < 5*time.Minute { // the first authority takes its time, too
				continue
			}
			shown, err := r.Certificate(nil)
			must(t, err)
			servings[shown.Leaf.SerialNumber.String()] = true
			authorities[string(shown.Leaf.AuthorityKeyId)] = true
			asked++
			if at := c.holders[random.IntN(len(c.holders))].Name; !r.accepted(at, somewhat(random, 4*time.Minute)) {
				refused++
				t.Errorf("%s: refused, by what %s holds", c.clock, at)
			}
		}
		if refused > 0 {
			return
		}
		if c.clock.After(nextTrouble) {
			nextTrouble = c.clock.Add(3*24*time.Hour + somewhat(random, 8*24*time.Hour))
			which := random.IntN(len(replicas))
			switch random.IntN(5) {
			case 0: // a restart
				replicas[which] = c.replica(patient, skews[which])
			case 1: // longer than a serving certificate lives
				cutOff[replicas[which]] = c.clock.Add(somewhat(random, 10*24*time.Hour))
			case 2:
				c.secret = nil
			case 3:
				spoil(random, c.secret)
			case 4: // one that was kept somewhere comes back
				old := c.secret.DeepCopy()
				c.put(read(old).older(t))
			}
		}
		c.clock = soonest(random, c.clock, replicas)
	}
	t.Logf("%d requests, %d serving certificates, %d authorities, %d writes of the Secret: %d refused", asked, len(servings), len(authorities), c.writes, refused)
	if c.writes > 300 {
		t.Errorf("the Secret was written %d times", c.writes)
	}
	if len(authorities) < 6 || len(servings) < 15 {
		t.Error("that was no rotation to speak of")
	}
}

// soonest is the next moment at which a replica wants to look, or one before.
func soonest(random *rand.Rand, now time.Time, replicas []*replica) time.Time {
	next := now.Add(time.Minute + somewhat(random, 4*time.Hour))
	for _, r := range replicas {
		if r.wake.After(now) && r.wake.Before(next) {
			next = r.wake
		}
	}
	return next
}

// older makes a Secret of another authority, which nobody has published.
func (c contents) older(t *testing.T) *corev1.Secret {
	t.Helper()
	cfg := Config{DNSName: service}.withDefaults()
	signer, err := newAuthority(c.serving.cert.NotBefore, cfg)
	must(t, err)
	serving, err := issue(signer, c.serving.cert.NotBefore, cfg)
	must(t, err)
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: secret}}
	must(t, contents{[]*x509.Certificate{signer.cert}, signer, serving, c.published}.write(s))
	return s
}

func spoil(random *rand.Rand, s *corev1.Secret) {
	if s == nil {
		return
	}
	key := []string{keyBundle, keySigner, keyServing, keyServedKey}[random.IntN(4)]
	switch raw := s.Data[key]; random.IntN(3) {
	case 0:
		delete(s.Data, key)
	case 1:
		s.Data[key] = []byte("-----BEGIN CERTIFICATE-----\nbm90aGluZw==\n-----END CERTIFICATE-----\n")
	default:
		s.Data[key] = raw[:len(raw)/2]
	}
}

func TestASlowReplicaDoesNotPublishWhatWasTrustedEarlier(t *testing.T) {
	c := newCluster(t)
	fast, slow := c.replica(Config{}, 0), c.replica(Config{}, 0)
	fast.settle()
	slow.settle()
	c.pass(13, fast, slow)
	c.overwrite("tasks", nil) // so that the slow one has something to write
	slow.sync()
	slow.secrets = &raced{cluster: c, meanwhile: func() {
		c.pass(1, fast) // a new authority is due
	}}
	if err := slow.step(); !apierrors.IsConflict(err) {
		t.Errorf("the slow one wrote with what it knew: %v", err)
	}
	for _, h := range c.holders {
		if n := len(certificates(h.Bundles[0].PEM)); n != 2 {
			t.Errorf("%s holds %d authorities, want both", h, n)
		}
	}
}

func TestADeletedSecretIsMadeAgainAroundTheCertificateInUse(t *testing.T) {
	c := newCluster(t)
	r, other := c.replica(Config{}, 0), c.replica(Config{}, 0)
	r.settle()
	other.settle()
	before := read(c.secret)
	c.secret = nil
	r.settle()
	got := read(c.secret)
	if !got.serving.cert.Equal(before.serving.cert) || len(got.trusted) != 2 || got.signer.cert.Equal(before.signer.cert) {
		t.Fatalf("after it was deleted the Secret has %d authorities, and another certificate: %t", len(got.trusted), !got.serving.cert.Equal(before.serving.cert))
	}
	c.clock = c.clock.Add(5 * time.Minute)
	r.settle()
	other.settle() // has seen it published for no time yet
	if got = read(c.secret); got.serving.cert.Equal(before.serving.cert) || len(r.refused(0)) > 0 || len(other.refused(0)) > 0 {
		t.Error("five minutes later nobody serves with one of the new authority, or the old one is refused")
	}
	c.clock = c.clock.Add(29 * 24 * time.Hour)
	other.settle()
	if got = read(c.secret); slices.ContainsFunc(got.trusted, before.signer.cert.Equal) {
		t.Error("the old authority is still trusted when it has expired")
	}
}

// With nothing in memory and no Secret, other replicas may still serve with what the
// API server trusts.
func TestANewbornKeepsWhomTheHoldersTrust(t *testing.T) {
	c := newCluster(t)
	old := c.replica(Config{}, 0)
	old.settle()
	c.secret = nil
	newborn := c.replica(Config{}, 0)
	newborn.settle()
	if refused := old.refused(0); len(refused) > 0 {
		t.Errorf("the one that was there before is refused by %v", refused)
	}
	if refused := newborn.refused(0); len(refused) > 0 {
		t.Errorf("the newborn is refused by %v", refused)
	}
	for _, foreign := range []Config{{DNSName: service, AuthorityLifetime: 10 * 365 * 24 * time.Hour}} {
		authority, err := newAuthority(c.clock, foreign.withDefaults())
		must(t, err)
		c.overwrite("tasks", bundle([]*x509.Certificate{authority.cert}))
		c.secret = nil
		third := c.replica(Config{}, 0)
		third.settle()
		if slices.ContainsFunc(read(c.secret).trusted, authority.cert.Equal) {
			t.Error("an authority that none of us can have made was taken over")
		}
	}
}

func TestABundleThatSomebodyOverwroteIsWrittenAgain(t *testing.T) {
	c := newCluster(t)
	r := c.replica(Config{}, 0)
	r.settle()
	want := c.believed("tasks", 0)
	for name, pem := range map[string][]byte{"nothing": nil, "garbage": []byte("x"), "one too many": append(bytes.Clone(want), read(mustSecret(t, c)).older(t).Data[keyBundle]...)} {
		c.overwrite("tasks", pem)
		r.settle()
		if got := c.believed("tasks", 0); !bytes.Equal(got, want) {
			t.Errorf("%s: holds %q", name, got)
		}
	}
}

func mustSecret(t *testing.T, c *cluster) *corev1.Secret {
	t.Helper()
	if c.secret == nil {
		t.Fatal("there is no Secret")
	}
	return c.secret
}

// Whoever takes an authority out of a bundle while it is being introduced starts its
// time again: not everybody has had it for as long as it looks.
func TestAnInterruptedIntroductionStartsAgain(t *testing.T) {
	c := newCluster(t)
	r := c.replica(Config{}, 0)
	r.settle()
	c.pass(13, r)
	old := c.believed("tasks", 0)
	c.pass(1, r)
	if len(read(c.secret).trusted) != 2 {
		t.Fatal("no authority was introduced")
	}
	c.clock = c.clock.Add(4 * time.Minute)
	c.overwrite("tasks", old)
	r.settle()
	c.clock = c.clock.Add(2 * time.Minute)
	r.settle()
	if got := read(c.secret); got.serving.cert.CheckSignatureFrom(got.signer.cert) == nil {
		t.Error("a certificate was made two minutes after its authority was published")
	}
	c.clock = c.clock.Add(3 * time.Minute)
	r.settle()
	if got := read(c.secret); got.serving.cert.CheckSignatureFrom(got.signer.cert) != nil {
		t.Error("five minutes after that there is still none")
	}
}

func TestAllThatExpiredWhileNobodyWasThereIsMadeAtOnce(t *testing.T) {
	c := newCluster(t)
	c.replica(Config{}, 0).settle()
	c.clock = c.clock.Add(365 * 24 * time.Hour)
	r := c.replica(Config{}, 0)
	r.settle()
	if err := r.Ready(); err != nil {
		t.Error(err)
	}
	if got := read(c.secret); len(got.trusted) != 1 || len(r.refused(0)) > 0 {
		t.Errorf("%d authorities, refused by %v", len(got.trusted), r.refused(0))
	}
}

func TestAReplicaWhoseCertificateExpiresIsNotReady(t *testing.T) {
	c := newCluster(t)
	r := c.replica(Config{}, 0)
	r.settle()
	c.clock = c.clock.Add(8 * 24 * time.Hour) // cut off for so long
	if err := r.Ready(); err == nil || !strings.Contains(err.Error(), "expires at") {
		t.Errorf("ready: %v", err)
	}
}

func TestAKeyInMemoryIsNotTheAuthoritys(t *testing.T) {
	c := newCluster(t)
	r := c.replica(Config{}, 0)
	r.settle()
	if r.inUse.signer != nil {
		t.Error("the key of the authority is kept in memory")
	}
}
