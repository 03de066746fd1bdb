package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiversion "k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/kubernetes/scheme"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/tools/record"

	"millrace/crds"
	"millrace/internal/metrics"
	"millrace/internal/settings"
	"millrace/internal/tracing"
	"millrace/reconcile/pipelinerun"
	"millrace/reconcile/taskrun"
	"millrace/reflector"
)

// clients is what the program asks of the world outside, and what it learned
// from it before it began: see questions.
type clients struct {
	tekton     rest.Interface // tekton.dev/v1
	tektonBeta rest.Interface // tekton.dev/v1beta1, for StepActions and CustomRuns
	core       rest.Interface // v1, for the reflector of pods
	coreV1     typedcorev1.CoreV1Interface

	// What holds the webhook's caBundle: admissionregistration.k8s.io/v1 and
	// apiextensions.k8s.io/v1.
	registration, extensions rest.Interface

	leases coordination.LeasesGetter
	lock   resourcelock.Interface // the leader's Lease; used only with leader election

	pulse *reflector.Pulse // beats with every request that the server has answered well

	images   taskrun.Images
	recorder record.EventRecorder
	close    func() // sends what the recorder still has, as far as it can

	// The following is what is learned.
	settings        *settings.Settings           // what the ConfigMaps say
	configMaps      map[string]*corev1.ConfigMap // as they were found
	entrypointImage string
	entrypointMode  taskrun.Mode
}

// restConfig is how to reach the cluster: the file that the configuration
// names, or the ServiceAccount of the pod that this is.
func restConfig(cfg config) (*rest.Config, error) {
	if cfg.kubeconfig == "" {
		rc, err := rest.InClusterConfig()
		if err != nil {
			return nil, fmt.Errorf("how to reach the cluster: %w (outside a cluster set --kubeconfig)", err)
		}
		return rc, nil
	}
	rc, err := clientcmd.BuildConfigFromFlags("", cfg.kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("--kubeconfig=%s: %w", cfg.kubeconfig, err)
	}
	return rc, nil
}

// newClients makes the clients, and asks nobody. Its errors are of rc, and of
// --registry-mirror.
func newClients(cfg config, rc *rest.Config, registry *metrics.Registry, traces *tracing.Tracer) (*clients, error) {
	rc = rest.CopyConfig(rc)
	rc.UserAgent = "millrace/" + version
	// No limiter of the client's own: it would delay a watch that has to be
	// opened again behind a burst of pods. The server has priority and fairness,
	// and the stages back off by their own states.
	rc.QPS = -1
	pulse := &reflector.Pulse{}
	rc.Wrap(patience)
	rc.Wrap(registry.Transport())
	rc.Wrap(beats(pulse))
	rc.Wrap(traces.Transport())
	httpClient, err := rest.HTTPClientFor(rc)
	if err != nil {
		return nil, fmt.Errorf("client of the API server: %w", err)
	}
	c := &clients{pulse: pulse}
	if c.tekton, err = rawClient(rc, httpClient, schema.GroupVersion{Group: crds.Group, Version: crds.Version}); err != nil {
		return nil, err
	}
	if c.tektonBeta, err = rawClient(rc, httpClient, schema.GroupVersion{Group: crds.Group, Version: crds.VersionStepActions}); err != nil {
		return nil, err
	}
	if c.registration, err = rawClient(rc, httpClient, admissionv1.SchemeGroupVersion); err != nil {
		return nil, err
	}
	if c.extensions, err = rawClient(rc, httpClient, schema.GroupVersion{Group: "apiextensions.k8s.io", Version: "v1"}); err != nil {
		return nil, err
	}
	// Pods are written as protobuf, which the server reads at a fraction of JSON's cost.
	binary := rest.CopyConfig(rc)
	binary.ContentType = runtime.ContentTypeProtobuf
	binary.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	core, err := typedcorev1.NewForConfigAndClient(binary, httpClient)
	if err != nil {
		return nil, fmt.Errorf("client of v1: %w", err)
	}
	c.coreV1, c.core = core, core.RESTClient()
	leases, err := coordination.NewForConfigAndClient(binary, httpClient)
	if err != nil {
		return nil, fmt.Errorf("client of coordination.k8s.io/v1: %w", err)
	}
	c.leases = leases
	if c.lock, err = leaseLock(cfg, leases); err != nil {
		return nil, err
	}
	if c.images, err = taskrun.NewRegistry(taskrun.RegistryConfig{Mirror: cfg.registryMirror}); err != nil {
		return nil, fmt.Errorf("--registry-mirror=%s: %w", cfg.registryMirror, err)
	}
	c.recorder, c.close = recorder(core)
	return c, nil
}

// questions are all that has to be learned from the API server before there is anything to
// wire. What follows has its own ways to go on asking.
func (c *clients) questions(cfg config, registry *metrics.Registry) []question {
	return []question{
		{"the settings", func(ctx context.Context) (err error) {
			if c.configMaps, err = getConfigMaps(ctx, cfg.namespace, c.coreV1); err == nil {
				c.settings = newSettings(ctx, cfg.namespace, c.configMaps, registry, c.recorder)
			}
			return err
		}},
		{"the image of this pod", func(ctx context.Context) (err error) {
			c.entrypointImage, err = entrypointImage(ctx, cfg, c.coreV1)
			return err
		}},
		{"its version", func(ctx context.Context) (err error) {
			c.entrypointMode, err = entrypointMode(ctx, cfg, c.core)
			return err
		}},
	}
}

// beats lets a pulse know of each success: the first after an outage wakes all
// who back off.
func beats(pulse *reflector.Pulse) func(http.RoundTripper) http.RoundTripper {
	return func(next http.RoundTripper) http.RoundTripper { return beat{pulse, next} }
}

type beat struct {
	pulse *reflector.Pulse
	next  http.RoundTripper
}

func (b beat) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := b.next.RoundTrip(req)
	if err == nil && resp.StatusCode < http.StatusMultipleChoices {
		b.pulse.Beat()
	}
	return resp, err
}

// WrappedRoundTripper lets client-go find the transport below.
func (b beat) WrappedRoundTripper() http.RoundTripper { return b.next }

func rawClient(rc *rest.Config, httpClient *http.Client, gv schema.GroupVersion) (rest.Interface, error) {
	raw := rest.CopyConfig(rc)
	raw.GroupVersion, raw.APIPath = &gv, "/apis"
	raw.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	c, err := rest.RESTClientForConfigAndClient(raw, httpClient)
	if err != nil {
		return nil, fmt.Errorf("client of %s: %w", gv, err)
	}
	return c, nil
}

// entrypointImage is the image that runs' pods get the entrypoint from: the one
// of the configuration, or of the pod that this process runs in.
func entrypointImage(ctx context.Context, cfg config, core typedcorev1.CoreV1Interface) (string, error) {
	if cfg.entrypointImage != "" {
		return cfg.entrypointImage, nil
	}
	pod, err := core.Pods(cfg.namespace).Get(ctx, cfg.podName, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("which image holds /entrypoint (set --entrypoint-image to tell): %w", err)
	}
	mine := slices.IndexFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name == ownContainer })
	return pod.Spec.Containers[max(mine, 0)].Image, nil
}

// ownContainer is this process's, as the Deployment names it: a service mesh may have put
// its own before it. Who names it otherwise has the first one taken.
const ownContainer = "controller"

// entrypointMode is the configured one; but a server that is too old for image
// volumes would not refuse them, it would leave them out in silence.
func entrypointMode(ctx context.Context, cfg config, core rest.Interface) (taskrun.Mode, error) {
	mode := taskrun.Mode(cfg.entrypointMode)
	if mode != taskrun.ModeAuto {
		return mode, nil
	}
	answer := core.Get().AbsPath("/version").Do(ctx)
	if err := answer.Error(); err != nil { // which is in the server's words; Raw's is not
		return "", fmt.Errorf("the API server's version: %w", err)
	}
	raw, err := answer.Raw()
	if err != nil {
		return "", fmt.Errorf("the API server's version: %w", err)
	}
	var server apiversion.Info
	if err := json.Unmarshal(raw, &server); err != nil {
		return "", fmt.Errorf("the API server's version: %w", err)
	}
	minor, err := strconv.Atoi(strings.TrimRight(server.Minor, "+"))
	if err != nil {
		return "", fmt.Errorf("the API server's version %q: %w", server.GitVersion, err)
	}
	if server.Major == "1" && minor < imageVolumesSince {
		return taskrun.ModeInitContainer, nil
	}
	return mode, nil
}

// imageVolumesSince is the minor version of Kubernetes that has image volumes
// unless somebody turned them off (KEP-4639: on by default in 1.35, GA in 1.36).
const imageVolumesSince = 35

// recorder emits Kubernetes events, repeated ones as a count on the first. They
// are news, not state: they are sent when there is time, and some may be lost.
func recorder(core typedcorev1.CoreV1Interface) (record.EventRecorder, func()) {
	broadcaster := record.NewBroadcaster()
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: core.Events("")})
	return broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "millrace"}), broadcaster.Shutdown
}

func taskRunConfig(cfg config, api *clients) taskrun.Config {
	return taskrun.Config{
		EntrypointImage: api.entrypointImage,
		Mode:            api.entrypointMode,
		ManagedBy:       cfg.managedBy,
		Resolver:        cfg.mayResolve,
		Namespace:       cfg.watchNamespace,
		Release:         commit(version),
	}
}

func pipelineRunConfig(cfg config) pipelinerun.Config {
	return pipelinerun.Config{ManagedBy: cfg.managedBy, Resolver: cfg.mayResolve, Namespace: cfg.watchNamespace}
}

// commit is the seven digits, and the word dirty, at the end of what git
// describes a version as: Tekton's annotation pipeline.tekton.dev/release has
// that form, and tools match it. It is empty for a version without them.
func commit(version string) string {
	return regexp.MustCompile(`[a-f0-9]{7}(-dirty)?$`).FindString(version)
}
