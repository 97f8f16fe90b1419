// Command controlplane is etcd, the kube- components, kubectl, kwok and kwokctl in one program: the name that it is
// started by says which. What they share is linked once, not seven times.
package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	_ "time/tzdata" // time zones of CronJobs, as in the programs that Kubernetes builds

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.etcd.io/etcd/server/v3/etcdmain"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // kubeconfigs that log in through a provider
	"k8s.io/component-base/cli"
	"k8s.io/component-base/logs"
	_ "k8s.io/component-base/logs/json/register"          // --logging-format=json
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // metrics of client-go
	_ "k8s.io/component-base/metrics/prometheus/version"  // metric kubernetes_build_info
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	"sigs.k8s.io/kwok/pkg/config"
	kwok "sigs.k8s.io/kwok/pkg/kwok/cmd"
	kwokctl "sigs.k8s.io/kwok/pkg/kwokctl/cmd"
	_ "sigs.k8s.io/kwok/pkg/kwokctl/runtime/binary" // clusters of plain processes, the only ones that we start
	"sigs.k8s.io/kwok/pkg/log"
	"sigs.k8s.io/kwok/pkg/utils/signals"
)

// programs do what the main functions of these programs do.
var programs = map[string]func(){
	"etcd":                    func() { etcdmain.Main(os.Args) },
	"kube-apiserver":          func() { os.Exit(cli.Run(apiserver.NewAPIServerCommand())) },
	"kube-controller-manager": func() { os.Exit(cli.Run(controllermanager.NewControllerManagerCommand())) },
	"kube-scheduler":          func() { os.Exit(cli.Run(scheduler.NewSchedulerCommand())) },
	"kubectl":                 runKubectl,
	"kwok":                    func() { runKwok(kwok.NewCommand) },
	"kwok-controller":         func() { runKwok(kwok.NewCommand) }, // as kwokctl links it
	"kwokctl":                 func() { runKwok(kwokctl.NewCommand) },
}

func main() {
	name := filepath.Base(os.Args[0])
	run, found := programs[name]
	if !found {
		names := slices.Sorted(maps.Keys(programs))
		fmt.Fprintf(os.Stderr, "%s: start this program through a link named %s\n", name, strings.Join(names, ", "))
		os.Exit(2)
	}
	run()
}

// forgetFlags drops the global flags that the packages of other programs define, such as --version of the servers:
// cobra adds them to every command.
func forgetFlags() { pflag.CommandLine = pflag.NewFlagSet(os.Args[0], pflag.ExitOnError) }

func runKubectl() {
	forgetFlags()
	logs.GlogSetter(kubectl.GetLogVerbosity(os.Args)) //nolint:errcheck // as in kubectl: a wrong -v is refused below
	if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
		kubectlutil.CheckErr(err)
	}
}

// runKwok reads the configuration first: it decides which commands and flags there are.
func runKwok(command func(context.Context) *cobra.Command) {
	forgetFlags()
	flags := pflag.NewFlagSet("global", pflag.ContinueOnError)
	flags.ParseErrorsAllowlist.UnknownFlags = true
	flags.Usage = func() {}
	ctx, logger := log.InitFlags(signals.SetupSignalContext(), flags)
	ctx, err := config.InitFlags(ctx, flags)
	if err == nil {
		c := command(ctx)
		c.PersistentFlags().AddFlagSet(flags)
		err = c.ExecuteContext(ctx)
	}
	if err != nil {
		logger.Error("Execute exit", "err", err)
		os.Exit(1)
	}
}
