package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"millrace/internal/simulation/apiserver"
)

var key = types.NamespacedName{Namespace: "default", Name: "hello"}

// A cluster with the controller in it.
type cluster struct {
	*testing.T

	server *apiserver.Server
	user   apiserver.Actor
	writes []string
}

// inCluster plays a story; a second of it is enough for all that a reconcile does.
func inCluster(t *testing.T, story func(*cluster)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := &cluster{T: t}
		c.server = apiserver.New(apiserver.Config{
			Custom: []*apiserver.Resource{
				apiserver.Custom(fooVersion().WithResource("foos"), "Foo", func() any { return new(Foo) }),
				apiserver.Custom(appsv1.SchemeGroupVersion.WithResource("deployments"), "Deployment", func() any { return new(appsv1.Deployment) }),
				apiserver.Custom(corev1.SchemeGroupVersion.WithResource("services"), "Service", func() any { return new(corev1.Service) }),
			},
			Seen: func(e apiserver.Exchange) {
				if e.Actor == "foo" && e.Committed() {
					c.writes = append(c.writes, strings.TrimSuffix(fmt.Sprintf("%s %s/%s", e.Verb, e.Resource, e.Subresource), "/"))
				}
			},
		})
		c.user = c.server.Actor("user")
		ctx, stop := context.WithCancel(t.Context())
		over := make(chan error, 2)
		go func() { over <- c.server.Run(ctx) }()
		transport := &http.Transport{DialContext: c.server.Connect("foo").Dial}
		go func() { over <- run(ctx, &rest.Config{Host: "http://apiserver", Transport: transport}) }()
		c.pass(time.Second)
		story(c)
		stop()
		for range 2 {
			if err := <-over; err != nil {
				t.Error(err)
			}
		}
		transport.CloseIdleConnections()
	})
}

// pass lets time go by.
func (c *cluster) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (c *cluster) create(resource string, o any) {
	c.Helper()
	if _, err := c.user.Create(resource, o); err != nil {
		c.Fatal(err)
	}
	c.pass(time.Second)
}

func (c *cluster) patch(resource, subresource, change string) {
	c.Helper()
	if _, err := c.user.Patch(resource, subresource, key, change); err != nil {
		c.Fatal(err)
	}
	c.pass(time.Second)
}

// ready is the condition of the Foo.
func (c *cluster) ready() metav1.Condition {
	c.Helper()
	o, there := c.server.Object("foos", key)
	if !there {
		c.Fatal("there is no Foo")
	}
	var foo Foo
	if err := json.Unmarshal(o.JSON(), &foo); err != nil {
		c.Fatal(err)
	}
	if len(foo.Status.Conditions) != 1 {
		c.Fatalf("conditions: %v", foo.Status.Conditions)
	}
	return foo.Status.Conditions[0]
}

// wrote says what the controller has written since the last time.
func (c *cluster) wrote() string {
	text := strings.Join(c.writes, ", ")
	c.writes = nil
	return text
}

func (c *cluster) expect(what, got, want string) {
	c.Helper()
	if got != want {
		c.Errorf("%s: %s, want %s", what, got, want)
	}
}

func hello() *Foo {
	return &Foo{
		TypeMeta:   metav1.TypeMeta{APIVersion: fooVersion().String(), Kind: "Foo"},
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name},
		Spec:       FooSpec{Image: "busybox", Replicas: 2, Port: 8080},
	}
}

func TestAFooIsMadeAndSaysHowItIs(t *testing.T) {
	inCluster(t, func(c *cluster) {
		c.create("foos", hello())
		c.expect("writes", c.wrote(), "patch foos, create deployments, create services, patch foos/status")
		was := c.ready()
		c.expect("condition", string(was.Status)+" "+was.Reason, "Unknown DeploymentPending")

		// The deployment's own controller has looked at it.
		c.patch("deployments", "status", `{"status": {"observedGeneration": 1, "availableReplicas": 1}}`)
		is := c.ready()
		c.expect("condition", string(is.Status)+" "+is.Reason+": "+is.Message, "False DeploymentUnavailable: 1 of 2 pods are available")
		c.expect("writes", c.wrote(), "patch foos/status")

		// And again, in the end: the status has changed, so has the time.
		c.patch("deployments", "status", `{"status": {"availableReplicas": 2}}`)
		now := c.ready()
		c.expect("condition", string(now.Status)+" "+now.Reason, "True DeploymentAvailable")
		if !now.LastTransitionTime.After(is.LastTransitionTime.Time) {
			c.Errorf("it changed at %s, and at %s", is.LastTransitionTime, now.LastTransitionTime)
		}
		c.wrote()

		// What is nobody's concern wakes nobody; a resync changes nothing.
		c.patch("services", "status", `{"status": {"loadBalancer": {"ingress": [{"ip": "10.0.0.1"}]}}}`)
		c.pass(10 * time.Minute)
		c.expect("writes", c.wrote(), "")
	})
}

// What the spec says no longer is gone from the Deployment, too: a comparison of what it
// says would not show that.
func TestWhatIsNoLongerSaidIsTakenBack(t *testing.T) {
	inCluster(t, func(c *cluster) {
		foo := hello()
		foo.Spec.Command = []string{"sleep", "1h"}
		c.create("foos", foo)
		c.wrote()
		c.patch("foos", "", `{"spec": {"command": null}}`)
		c.expect("writes", c.wrote(), "patch deployments, patch foos/status")
		o, _ := c.server.Object("deployments", key)
		if text := string(o.JSON()); strings.Contains(text, "sleep") {
			c.Error(text)
		}
		c.pass(10 * time.Minute)
		c.expect("writes", c.wrote(), "")
	})
}

// Somebody who follows the Deployment without controlling it loses nothing.
func TestWhatIsOnlyFollowedIsNotDeleted(t *testing.T) {
	inCluster(t, func(c *cluster) {
		c.create("foos", hello())
		o, _ := c.server.Object("foos", key)
		theirs := serviceOf(hello())
		theirs.Name = "theirs"
		theirs.OwnerReferences = []metav1.OwnerReference{{APIVersion: fooVersion().String(), Kind: "Foo", Name: key.Name, UID: o.GetUID()}}
		c.create("services", theirs)
		c.wrote()
		if _, err := c.user.Delete("foos", key, metav1.DeleteOptions{}); err != nil {
			c.Fatal(err)
		}
		c.pass(time.Second)
		c.expect("writes", c.wrote(), "delete services, delete deployments, patch foos")
	})
}

// An example that is longer would not be read.
func TestItIsShort(t *testing.T) {
	lines := 0
	for _, name := range []string{"main.go", "foo.go"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
				lines++
			}
		}
	}
	if lines >= 250 {
		t.Errorf("%d lines of code", lines)
	}
}

func TestAnotherSpecIsAnotherDeployment(t *testing.T) {
	inCluster(t, func(c *cluster) {
		c.create("foos", hello())
		c.patch("deployments", "status", `{"status": {"observedGeneration": 1, "availableReplicas": 2}}`)
		c.wrote()
		c.patch("foos", "", `{"spec": {"image": "nginx", "replicas": 3}}`)
		c.expect("writes", c.wrote(), "patch deployments, patch foos/status")
		if is := c.ready(); is.Status != metav1.ConditionUnknown || is.ObservedGeneration != 2 {
			c.Errorf("condition: %+v", is)
		}
		// Somebody changes what is not his: it is put right.
		c.patch("deployments", "", `{"spec": {"replicas": 7}}`)
		c.expect("writes", c.wrote(), "patch deployments")
		// Somebody deletes it: it is made again.
		if _, err := c.user.Delete("deployments", key, metav1.DeleteOptions{}); err != nil {
			c.Fatal(err)
		}
		c.pass(time.Second)
		c.expect("writes", c.wrote(), "create deployments")
	})
}

func TestAFooIsCleanedUpAfter(t *testing.T) {
	inCluster(t, func(c *cluster) {
		c.create("foos", hello())
		c.wrote()
		if _, err := c.user.Delete("foos", key, metav1.DeleteOptions{}); err != nil {
			c.Fatal(err)
		}
		c.pass(time.Second)
		c.expect("writes", c.wrote(), "delete services, delete deployments, patch foos")
		for _, of := range []string{"foos", "deployments", "services"} {
			if left := c.server.Objects(of); len(left) > 0 {
				c.Errorf("%d %s are left", len(left), of)
			}
		}
	})
}

func TestWhatBelongsToSomebodyElseIsLeftAlone(t *testing.T) {
	inCluster(t, func(c *cluster) {
		theirs := serviceOf(hello())
		c.create("services", theirs)
		c.create("foos", hello())
		is := c.ready()
		c.expect("condition", string(is.Status)+" "+is.Reason, "False ChildFailed")
		if !strings.Contains(is.Message, "services default/hello belongs to somebody else") {
			c.Error(is.Message)
		}
		if _, err := c.user.Delete("foos", key, metav1.DeleteOptions{}); err != nil {
			c.Fatal(err)
		}
		c.pass(time.Second)
		if _, there := c.server.Object("services", key); !there {
			c.Error("somebody else's Service is gone")
		}
	})
}
