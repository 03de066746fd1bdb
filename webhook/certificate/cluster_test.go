package certificate

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	service = "millrace-webhook.tekton-pipelines.svc"
	secret  = "millrace-webhook-certs"
)

// A cluster holds the Secret and the holders, and has a clock that tests move.
type cluster struct {
	t       *testing.T
	clock   time.Time
	version int
	secret  *corev1.Secret
	holders []Holder
	before  []bundleAt // every bundle that a holder has had
	broken  func() error
	writes  int
}

type bundleAt struct {
	holder string
	from   time.Time
	pem    []byte
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{t: t, clock: time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC), broken: func() error { return nil }}
	for _, name := range []string{"mutating", "validating", "tasks", "taskruns"} {
		c.holders = append(c.holders, Holder{Resource: "holders", Name: name, ResourceVersion: c.next(), Bundles: []Bundle{{Path: "/" + name}}})
	}
	return c
}

func (c *cluster) next() string {
	c.version++
	return strconv.Itoa(c.version)
}

func conflict() error {
	return apierrors.NewConflict(schema.GroupResource{Resource: "objects"}, "x", errors.New("another version"))
}

func (c *cluster) Get(_ context.Context, name string, _ metav1.GetOptions) (*corev1.Secret, error) {
	if err := c.broken(); err != nil {
		return nil, err
	}
	if c.secret == nil {
		return nil, apierrors.NewNotFound(corev1.Resource("secrets"), name)
	}
	return c.secret.DeepCopy(), nil
}

func (c *cluster) Create(_ context.Context, s *corev1.Secret, _ metav1.CreateOptions) (*corev1.Secret, error) {
	if err := c.broken(); err != nil {
		return nil, err
	}
	if c.secret != nil {
		return nil, apierrors.NewAlreadyExists(corev1.Resource("secrets"), s.Name)
	}
	return c.put(s), nil
}

func (c *cluster) Update(_ context.Context, s *corev1.Secret, _ metav1.UpdateOptions) (*corev1.Secret, error) {
	if err := c.broken(); err != nil {
		return nil, err
	}
	if c.secret == nil || c.secret.ResourceVersion != s.ResourceVersion {
		return nil, conflict()
	}
	return c.put(s), nil
}

func (c *cluster) put(s *corev1.Secret) *corev1.Secret {
	c.writes++
	c.secret = s.DeepCopy()
	c.secret.ResourceVersion = c.next()
	return c.secret.DeepCopy()
}

// overwrite is what Publish does, and what somebody else may do.
func (c *cluster) overwrite(name string, pem []byte) {
	for i := range c.holders {
		if c.holders[i].Name == name {
			c.holders[i] = Holder{"holders", name, c.next(), []Bundle{{"/" + name, pem}}}
			c.before = append(c.before, bundleAt{name, c.clock, pem})
		}
	}
}

// believed is what an API server that is so late takes for the bundle of a holder.
func (c *cluster) believed(holder string, late time.Duration) (pem []byte) {
	for _, b := range c.before {
		if b.holder == holder && !b.from.After(c.clock.Add(-late)) {
			pem = b.pem
		}
	}
	return pem
}

// A replica has a cache of the holders that may be old, and a clock that may be wrong.
type replica struct {
	*Keeper
	*cluster

	cache []Holder
	wake  time.Time
}

func (c *cluster) replica(cfg Config, skew time.Duration) *replica {
	r := &replica{cluster: c}
	cfg.DNSName, cfg.SecretName = service, secret
	r.Keeper = New(cfg, c, r)
	r.now = func() time.Time { return c.clock.Add(skew) }
	r.sync()
	return r
}

// sync brings the cache up to date.
func (r *replica) sync() { r.cache = slices.Clone(r.cluster.holders) }

func (r *replica) List() ([]Holder, error) { return r.cache, nil }

func (r *replica) Publish(_ context.Context, h Holder, pem []byte) error {
	if err := r.broken(); err != nil {
		return err
	}
	i := slices.IndexFunc(r.cluster.holders, func(x Holder) bool { return x.Name == h.Name })
	if r.cluster.holders[i].ResourceVersion != h.ResourceVersion {
		return conflict()
	}
	r.overwrite(h.Name, pem)
	return nil
}

// step reconciles once. An error has it come again soon.
func (r *replica) step() error {
	after, err := r.Reconcile(r.t.Context())
	if err != nil {
		after = time.Second
	}
	r.wake = r.clock.Add(after)
	return err
}

// settle reconciles, with an up-to-date cache, until there is nothing to write.
func (r *replica) settle() {
	r.t.Helper()
	for range 20 {
		r.sync()
		if err := r.step(); err != nil {
			r.t.Fatal(err)
		}
		if r.wake.Sub(r.clock) > afterAWrite {
			return
		}
	}
	r.t.Fatal("it does not come to rest")
}

// pass lets days go by, on each of which the replicas look.
func (c *cluster) pass(days int, replicas ...*replica) {
	c.t.Helper()
	for range days {
		c.clock = c.clock.Add(24 * time.Hour)
		for _, r := range replicas {
			r.settle()
		}
	}
}

// refused are the holders whose API server, so late, would not accept the replica.
func (r *replica) refused(late time.Duration) (holders []string) {
	r.t.Helper()
	for _, h := range r.cluster.holders {
		if !r.accepted(h.Name, late) {
			holders = append(holders, h.Name)
		}
	}
	return holders
}

func (r *replica) accepted(holder string, late time.Duration) bool {
	r.t.Helper()
	shown, err := r.Certificate(nil)
	if err != nil {
		r.t.Fatal(err)
	}
	return trusts(certificates(r.believed(holder, late)), &pair{cert: shown.Leaf}, service, r.clock)
}

// somewhat is a random duration up to a limit.
func somewhat(r *rand.Rand, limit time.Duration) time.Duration {
	return time.Duration(r.Int64N(int64(limit)))
}
