package settings

import "slices"

// unserved are Tekton's keys that nobody here reads, with the values that ask for
// nothing but what is done anyway; without any, all do. The ConfigMaps that come
// with Tekton have every key in them, and need no word about it.
func unserved() map[string]map[string][]string {
	return map[string]map[string][]string{
		FeatureFlags: {
			"await-sidecar-readiness":                        {"true"},
			"coschedule":                                     {"workspaces", "disabled"}, // nothing is tied to a node but by its claims
			"disable-inline-spec":                            {},
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
		ConfigDefaults: {
			"default-affinity-assistant-pod-template": {},
			"default-cloud-events-sink":               {},
			"default-maximum-resolution-timeout":      {"1m"},
			"default-sidecar-log-polling-interval":    nil, // nobody polls
			"default-step-ref-concurrency-limit":      nil, // they are in a cache
		},
	}
}

// ignored tells what is to be said of a key that is not served; nothing for one whose
// value asks for what is done anyway.
func ignored(configMap, key, value string) (Fault, bool) {
	fine, known := unserved()[configMap][key]
	switch {
	case !known:
		return Unknown, true
	case fine != nil && !slices.Contains(fine, value):
		return NotServed, true
	default:
		return "", false
	}
}
