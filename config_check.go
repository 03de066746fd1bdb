package main

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"k8s.io/apimachinery/pkg/util/validation"

	"millrace/internal/tracing"
	"millrace/reconcile/taskrun"
)

// check refuses what would fail later, or do nothing in silence: by the name of the flag,
// and with what to do.
func (c *config) check() error {
	for _, check := range []func() error{c.checkNames, c.checkAddresses, c.checkImages, c.checkWork, c.checkLease, c.checkTracing} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// checkNames refuses names that nobody can have: a watch of such a namespace is silent for
// ever.
func (c *config) checkNames() error {
	if strings.Contains(c.watchNamespace, ",") {
		return fmt.Errorf("--watch-namespace=%q: must be one namespace; install once for each of several", c.watchNamespace)
	}
	if c.namespace == "" {
		return errors.New("--namespace must not be empty: it is where the Lease and the ConfigMaps are")
	}
	for _, each := range []struct {
		flag, name, what string
		wrong            func(string) []string
	}{
		{"namespace", c.namespace, "a namespace", validation.IsDNS1123Label},
		{"watch-namespace", c.watchNamespace, "a namespace", validation.IsDNS1123Label},
		{"webhook-service", c.webhookService, "a Service", validation.IsDNS1123Label},
		{"pod-name", c.podName, "a pod", validation.IsDNS1123Subdomain},
	} {
		if wrong := each.wrong(each.name); each.name != "" && len(wrong) > 0 {
			return fmt.Errorf("--%s=%q is not the name of %s: %s", each.flag, each.name, each.what, wrong[0])
		}
	}
	if c.webhookBind != "" && c.webhookService == "" {
		return errors.New("--webhook-service must not be empty: the certificate is made for its name; --webhook-bind-address= has no webhook at all")
	}
	return nil
}

// An address is what a flag has a port opened at.
type address struct{ flag, text, host, port string }

// checkAddresses refuses what no port can be opened at, and what is opened twice. Of /debug
// that would be a line in the log, and no more.
func (c *config) checkAddresses() error {
	if c.bind == "" {
		return errors.New("--bind-address must not be empty: kubelet's probes go there")
	}
	var taken []address
	for _, each := range []address{{flag: "bind-address", text: c.bind}, {flag: "debug-bind-address", text: c.debugBind}, {flag: "webhook-bind-address", text: c.webhookBind}} {
		if each.text == "" {
			continue
		}
		var err error
		if each.host, each.port, err = net.SplitHostPort(each.text); err == nil {
			_, err = strconv.ParseUint(each.port, 10, 16)
		}
		if err != nil {
			return fmt.Errorf("--%s=%q: want host:port, or :port for all addresses of the machine", each.flag, each.text)
		}
		for _, other := range taken {
			if each.collides(other) {
				return fmt.Errorf("--%s=%s is what --%s=%s has: give it another port", each.flag, each.text, other.flag, other.text)
			}
		}
		taken = append(taken, each)
	}
	return nil
}

// collides tells whether both cannot be opened. Port 0 is any that is free.
func (a address) collides(b address) bool {
	return a.port == b.port && a.port != "0" && (a.host == b.host || a.everywhere() || b.everywhere())
}

func (a address) everywhere() bool {
	ip := net.ParseIP(a.host)
	return a.host == "" || ip != nil && ip.IsUnspecified()
}

func (c *config) checkImages() error {
	if c.entrypointImage != "" {
		if _, err := name.ParseReference(c.entrypointImage); err != nil {
			return fmt.Errorf("--entrypoint-image=%q is not the name of an image: %w", c.entrypointImage, err)
		}
	}
	if _, err := taskrun.NewRegistry(taskrun.RegistryConfig{Mirror: c.registryMirror}); err != nil {
		return fmt.Errorf("--registry-mirror=%s: %w", c.registryMirror, err)
	}
	return nil
}

func (c *config) checkWork() error {
	switch {
	case c.resync < 0:
		return fmt.Errorf("--resync-period=%s: must not be negative; 0 for never", c.resync)
	case c.drain <= 0:
		return fmt.Errorf("--drain-timeout=%s: must be positive", c.drain)
	case c.packAfter < 0:
		return fmt.Errorf("--pack-after=%s: must not be negative; 0 for never", c.packAfter)
	case len(c.managedBy) == 0:
		return errors.New("--managed-by must name at least one value")
	case c.shards > 0 && !c.leaderElect:
		return fmt.Errorf("--shards=%d needs --leader-elect=true: Leases keep the replicas apart", c.shards)
	case c.shards > 0 && c.watchNamespace != "":
		return fmt.Errorf("--shards=%d: a share is of namespaces, and --watch-namespace=%s is only one", c.shards, c.watchNamespace)
	}
	return nil
}

func (c *config) checkLease() error {
	switch {
	case !c.leaderElect:
		return nil
	case c.leaseDuration < time.Second:
		return fmt.Errorf("--leader-elect-lease-duration=%s: must be a second at least, since a Lease has whole ones", c.leaseDuration)
	case c.renewDeadline >= c.leaseDuration:
		return fmt.Errorf("--leader-elect-renew-deadline=%s must be less than --leader-elect-lease-duration=%s, or two leaders could overlap", c.renewDeadline, c.leaseDuration)
	case c.retryPeriod <= 0:
		return fmt.Errorf("--leader-elect-retry-period=%s: must be positive", c.retryPeriod)
	case float64(c.retryPeriod)*1.2 >= float64(c.renewDeadline):
		return fmt.Errorf("--leader-elect-retry-period=%s must be well below --leader-elect-renew-deadline=%s (by a fifth at least)", c.retryPeriod, c.renewDeadline)
	}
	return nil
}

// checkTracing looks at one flag after the other, so that the error can name it. Where
// nothing is traced, variables that are there for all programs of a cluster do no harm.
func (c *config) checkTracing() error {
	if c.tracing.Off() {
		return nil
	}
	for _, each := range []struct {
		flag string
		part tracing.Config
	}{
		{"tracing-endpoint", tracing.Config{Endpoint: c.tracing.Endpoint}},
		{"tracing-traces-endpoint", tracing.Config{TracesEndpoint: c.tracing.TracesEndpoint}},
		{"tracing-headers", tracing.Config{Headers: c.tracing.Headers}},
		{"tracing-resource-attributes", tracing.Config{ResourceAttributes: c.tracing.ResourceAttributes}},
	} {
		if err := each.part.Check(); err != nil {
			return fmt.Errorf("--%s: %w", each.flag, err)
		}
	}
	return nil
}

// checkStart refuses what a controller cannot begin with, and whoever only asks for its
// settings can do without.
func (c *config) checkStart() error {
	if c.entrypointImage == "" && c.podName == "" {
		return errors.New("--entrypoint-image is needed outside a pod: the image that holds /entrypoint, as the nodes can pull it")
	}
	return nil
}
