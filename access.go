package main

import (
	"fmt"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"millrace/internal/option"
)

// access is how to reach the cluster for who calls from outside: as kubectl does, by a file
// or a context that flags name.
type access struct{ kubeconfig, context string }

func (a *access) addFlags(flags *pflag.FlagSet) {
	flags.Var(option.Text(&a.kubeconfig, ""), "kubeconfig", "file that tells how to reach the cluster (default: as kubectl's)")
	flags.Var(option.Text(&a.context, ""), "context", "context of that file (default: the current one)")
}

// accessOf is what the flags of a command say, which may have none of them.
func accessOf(flags *pflag.FlagSet) access {
	said := func(name string) string {
		if f := flags.Lookup(name); f != nil {
			return f.Value.String()
		}
		return ""
	}
	return access{said("kubeconfig"), said("context")}
}

func (a access) config() clientcmd.ClientConfig {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = a.kubeconfig
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: a.context})
}

// rest has no limit of its own: client-go's is five requests a second, and the logs of a run
// of many tasks are two for each of them, at once. The server has better ones.
func (a access) rest() (*rest.Config, error) {
	rc, err := a.config().ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("how to reach the cluster: %w", err)
	}
	rc.QPS = -1
	return rc, nil
}
