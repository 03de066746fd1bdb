package main

import (
	"context"
	"maps"
	"slices"
	"strings"

	"k8s.io/klog/v2"
)

// unserved are Tekton's keys that nobody here reads, with the values that ask for
// nothing but what is done anyway; without any, all do. The ConfigMaps that come
// with Tekton have every key in them, and need no word about it.
func unserved() map[string]map[string][]string {
	return map[string]map[string][]string{
		"feature-flags": {
			"await-sidecar-readiness":                        {"true"},
			"coschedule":                                     {"workspaces", "disabled"}, // nothing is tied to a node but by its claims
			"disable-inline-spec":                            {},
			"enable-api-fields":                              {"beta", "alpha"},
			"enable-artifacts":                               {"false"},
			"enable-concise-resolver-syntax":                 {"false"},
			"enable-kubernetes-sidecar":                      nil, // sidecars always are
			"enable-step-actions":                            {"true"},
			"enable-wait-exponential-backoff":                nil, // nothing waits by looking again
			"enforce-nonfalsifiability":                      {"none"},
			"require-git-ssh-secret-known-hosts":             {"false"},
			"running-in-environment-with-injected-sidecars":  nil, // no step waits for them
			"send-cloudevents-for-runs":                      nil, // there is no sink
			"set-security-context":                           nil, // of our own containers: it is always set
			"set-security-context-read-only-root-filesystem": nil,
			"trusted-resources-verification-no-match-policy": {"ignore"},
		},
		"config-defaults": {
			"default-affinity-assistant-pod-template": {},
			"default-cloud-events-sink":               {},
			"default-maximum-resolution-timeout":      {"1m"},
			"default-resolver-type":                   {},
			"default-sidecar-log-polling-interval":    nil, // nobody polls
			"default-step-ref-concurrency-limit":      nil, // they are in a cache
		},
	}
}

// ignored are the keys with a value that nobody acts upon, in their order: those
// that Tekton has, and those that nobody has heard of. It is for when all has been
// read.
func (s *settingsOf) ignored() (notServed, unknown []string) {
	for _, key := range slices.Sorted(maps.Keys(s.data)) {
		value := strings.TrimSpace(s.data[key])
		fine, known := unserved()[s.name][key]
		switch {
		case s.asked[key], value == "", strings.HasPrefix(key, "_"): // _example is documentation
		case !known:
			unknown = append(unknown, key)
		case fine != nil && !slices.Contains(fine, value):
			notServed = append(notServed, key)
		}
	}
	return notServed, unknown
}

// warn says which settings make no difference, each by its name.
func (s *settings) warn(ctx context.Context) {
	log := klog.FromContext(ctx)
	for _, of := range []*settingsOf{&s.flags, &s.defaults} {
		notServed, unknown := of.ignored()
		for _, key := range notServed {
			log.Info("Warning: a setting of Tekton's is not served, and makes no difference", "configMap", of.name, "key", key, "value", of.data[key])
		}
		for _, key := range unknown {
			log.Info("Warning: a setting is not known, and makes no difference", "configMap", of.name, "key", key)
		}
	}
}
