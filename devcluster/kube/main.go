// One multi-call binary for a single-node Kubernetes: kube <component> [flags],
// or call it through a symlink named after the component.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	_ "time/tzdata"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	_ "k8s.io/client-go/plugin/pkg/client/auth"
	"k8s.io/component-base/cli"
	"k8s.io/component-base/logs"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectlcmd "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	kcm "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

func main() {
	name := filepath.Base(os.Args[0])
	args := os.Args
	known := map[string]bool{"etcd": true, "kube-apiserver": true, "kube-controller-manager": true,
		"kube-scheduler": true, "kubelet": true, "kubectl": true}
	if !known[name] {
		if len(os.Args) < 2 || !known[os.Args[1]] {
			fmt.Fprintln(os.Stderr, "usage:  kube etcd|kube-apiserver|kube-controller-manager|kube-scheduler|kubelet|kubectl [flags]")
			os.Exit(2)
		}
		name = os.Args[1]
		args = append([]string{name}, os.Args[2:]...)
	}
	os.Args = args
	var cmd *cobra.Command
	switch name {
	case "etcd":
		etcdmain.Main(args)
		return
	case "kubectl":
		logs.GlogSetter(kubectlcmd.GetLogVerbosity(args)) // nolint:errcheck
		c := kubectlcmd.NewDefaultKubectlCommand()
		if err := cli.RunNoErrOutput(c); err != nil {
			kubectlutil.CheckErr(err)
		}
		return
	case "kube-apiserver":
		cmd = apiserver.NewAPIServerCommand()
	case "kube-controller-manager":
		cmd = kcm.NewControllerManagerCommand()
	case "kube-scheduler":
		cmd = scheduler.NewSchedulerCommand()
	case "kubelet":
		cmd = kubelet.NewKubeletCommand(context.Background())
	}
	os.Exit(cli.Run(cmd))
}
