package main

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	"millrace/indexer"
	"millrace/internal/metrics"
	"millrace/internal/settings"
	"millrace/wire"
)

// getConfigMaps reads the two ConfigMaps as they are when the program starts; those
// that are not there are not in the map.
func getConfigMaps(ctx context.Context, namespace string, core typedcorev1.CoreV1Interface) (map[string]*corev1.ConfigMap, error) {
	found := map[string]*corev1.ConfigMap{}
	for _, name := range settings.Names() {
		configMap, err := core.ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			return nil, fmt.Errorf("read ConfigMap %s/%s: %w", namespace, name, err)
		default:
			found[name] = configMap
		}
	}
	return found, nil
}

// newSettings are what the ConfigMaps say, as they were found; what comes of changes
// is told to the log, to the metrics and to events of the ConfigMap.
func newSettings(ctx context.Context, namespace string, found map[string]*corev1.ConfigMap, registry *metrics.Registry, recorder record.EventRecorder) *settings.Settings {
	s := settings.New(tellOfSettings(klog.FromContext(ctx), namespace, registry.Settings(), recorder))
	for _, name := range settings.Names() {
		if configMap := found[name]; configMap != nil {
			s.Take(name, configMap.UID, configMap.Data)
		} else {
			s.Gone(name, "")
		}
	}
	return s
}

func tellOfSettings(log klog.Logger, namespace string, gauge func(configMap, key string, invalid bool), recorder record.EventRecorder) settings.Trace {
	return settings.Trace{
		Changed: func(c settings.Change) {
			log.Info("A setting has changed", "configMap", c.Key.ConfigMap, "key", c.Key.Name, "from", c.From, "to", c.To, "takesEffect", c.Key.Effect)
		},
		Complains: func(c settings.Complaint) {
			switch c.Fault {
			case settings.NotServed:
				log.Info("Warning: a setting of Tekton's is not served, and makes no difference", "configMap", c.ConfigMap, "key", c.Key, "value", c.Value)
			case settings.Unknown:
				log.Info("Warning: a setting is not known, and makes no difference", "configMap", c.ConfigMap, "key", c.Key)
			case settings.Invalid:
				log.Info("Warning: a setting is not valid; "+inItsPlace(c), "configMap", c.ConfigMap, "key", c.Key, "value", c.Value, "wants", c.Wants)
				gauge(c.ConfigMap, c.Key, true)
				about := &corev1.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: namespace, Name: c.ConfigMap, UID: c.UID}
				recorder.Eventf(about, corev1.EventTypeWarning, "InvalidSetting", "%s: %.200q: %.200s; %s", c.Key, c.Value, c.Wants, inItsPlace(c))
			}
		},
		Righted: func(c settings.Complaint) {
			if c.Fault == settings.Invalid {
				gauge(c.ConfigMap, c.Key, false)
			}
		},
	}
}

func inItsPlace(c settings.Complaint) string {
	if c.NeverGood {
		return "nothing is worked on until it is corrected"
	}
	return fmt.Sprintf("the last good value stays in force: %.100q", c.InForce)
}

// notGood is why nothing is worked on: a setting that has had no good value since the
// program began, and so says nothing that anybody could go by.
func notGood(s *settings.Settings) error {
	for _, c := range s.Complaints() {
		if c.Fault == settings.Invalid && c.NeverGood {
			return fmt.Errorf("ConfigMap %s: %s: %q: %s", c.ConfigMap, c.Key, c.Value, c.Wants)
		}
	}
	return nil
}

// awaitGood waits until there are settings to go by, and tells whether there are: not
// if ctx ends first.
func awaitGood(ctx context.Context, s *settings.Settings) bool {
	select {
	case <-s.Good():
		return true
	case <-ctx.Done():
		return false
	}
}

// A settingsChain is the chain of one ConfigMap.
type settingsChain struct {
	chain

	key types.NamespacedName
	// begunWith is the UID of the one that the program began with; empty for none.
	begunWith types.UID
}

// newSettingsChain is for the ConfigMap of that key, as it was found; nil for none.
func newSettingsChain(c chain, key types.NamespacedName, found *corev1.ConfigMap) settingsChain {
	if found == nil {
		return settingsChain{chain: c, key: key}
	}
	return settingsChain{c, key, found.UID}
}

// keep runs the chain, which keeps s told about the ConfigMap.
func (c settingsChain) keep(ctx context.Context, parts *errgroup.Group, s *settings.Settings) {
	key, log := c.key, klog.FromContext(ctx)
	c.handlers = []func(indexer.Change){func(change indexer.Change) {
		if change.New == nil {
			s.Gone(key.Name, change.Old.UID())
			return
		}
		configMap, err := wire.Decode[corev1.ConfigMap](change.New)
		if err != nil { // the next change of it may do better
			log.Error(err, "A ConfigMap cannot be read; its settings stay as they are", "configMap", key)
			return
		}
		s.Take(key.Name, configMap.UID, configMap.Data)
	}}
	c.run(ctx, parts)
	// Of one that was there at the start, and is gone from the first list, no event tells.
	parts.Go(func() error {
		select {
		case <-c.Synced():
			if _, _, there := c.Known(key); !there {
				s.Gone(key.Name, c.begunWith)
			}
		case <-ctx.Done():
		}
		return nil
	})
}
