package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"coapply.dev/platform/controllers"
)

const examples = `  # On a workstation, against the cluster of the current kubeconfig
  kubectl apply -k config/crd
  manager --leader-elect-namespace=default --log-format=text

  # One reconciler, no ports, no leader election
  manager --controllers=devbox-network --leader-elect=false \
    --metrics-bind-address=0 --health-probe-bind-address=0

  # Leave replicas to whoever scaled a devbox by hand, and say so in its status
  manager --leader-elect-namespace=default --replicas-conflict=Reject

  # Completion for this shell session
  source <(manager completion bash)`

func longHelp() string {
	var b strings.Builder
	b.WriteString("Run the reconcilers of the coapply example platform until SIGINT or SIGTERM.\n\nReconcilers:\n")
	for _, c := range controllers.All() {
		fmt.Fprintf(&b, "  %-16s %s\n", c.Name, c.Description)
	}
	b.WriteString(`
Exit codes: 0 asked to stop and stopped, 1 failed, 2 wrong flags. A failure is one
line, the last on stderr.`)
	return b.String()
}

// completeFlags makes the shell complete the values of flags that have few values.
func completeFlags(cmd *cobra.Command) {
	values := map[string][]string{
		"controllers": append(controllerNames(), allControllers),
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if c, ok := f.Value.(*choice); ok {
			values[f.Name] = c.of
		}
	})
	for name, of := range values {
		// An error says that there is no such flag, which a test of completion shows.
		_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(of, cobra.ShellCompDirectiveNoFileComp))
	}
}
