package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"coapply.dev/apply"
	"coapply.dev/platform/controllers"
)

// options holds the values of the manager's flags.
type options struct {
	kubeconfig              string
	controllers             []string
	replicasConflict        choice
	forcesPerMinute         int
	reconciliationTimeout   time.Duration
	concurrency             int
	leaderElect             bool
	leaderElectNamespace    string
	metricsAddress          string
	probeAddress            string
	gracefulShutdownTimeout time.Duration
	logFormat               choice
	logLevel                choice
}

// addFlags adds the manager's flags, with their defaults, to a flag set. Parsing stores the values in o.
func (o *options) addFlags(flags *pflag.FlagSet) {
	flags.SortFlags = false
	flags.StringVar(&o.kubeconfig, "kubeconfig", "",
		"kubeconfig `file` of the cluster; default: $KUBECONFIG, then ~/.kube/config, then the pod's service account")
	flags.StringSliceVar(&o.controllers, "controllers", []string{allControllers},
		"comma-separated `names` of the reconcilers to run, from the list above; * for all")
	o.replicasConflict = choice{value: apply.Force.String(), of: []string{apply.Reject.String(), apply.Force.String()}}
	flags.Var(&o.replicasConflict, "replicas-conflict",
		"what devbox-power does when another field manager, such as kubectl scale or an autoscaler, owns the replicas: "+
			"Reject keeps the other manager's value and reports the conflict, Force takes the field")
	flags.IntVar(&o.forcesPerMinute, "forces-per-minute", 3,
		"how many times per minute a reconciler may force the same field of an object; at the next conflict over the field, the "+
			"reconciler stops forcing the field, for one minute at first, and reports both owners")
	flags.DurationVar(&o.reconciliationTimeout, "reconciliation-timeout", time.Minute,
		"how long one reconciliation may take before it is cancelled and retried; above 0")
	flags.IntVar(&o.concurrency, "max-concurrent-reconciles", 4,
		"how many objects each reconciler reconciles concurrently, so that a slow object does not delay the others; 1 or more")
	flags.BoolVar(&o.leaderElect, "leader-elect", true,
		"let only one replica reconcile while the others wait with synced caches; needed with more than one replica")
	flags.StringVar(&o.leaderElectNamespace, "leader-elect-namespace", "",
		"`namespace` of the Lease "+leaderElectionID+"; default: the pod's namespace; required outside a cluster")
	flags.StringVar(&o.metricsAddress, "metrics-bind-address", ":8443",
		"`address` that serves /metrics over HTTPS to clients that RBAC allows to get /metrics, 0 for none")
	flags.StringVar(&o.probeAddress, "health-probe-bind-address", ":8081",
		"`address` that serves /healthz and /readyz over HTTP, 0 for none")
	flags.DurationVar(&o.gracefulShutdownTimeout, "graceful-shutdown-timeout", 20*time.Second,
		"how long the manager waits for running reconciliations after SIGINT or SIGTERM; a second signal ends the process at once")
	o.logFormat = choice{value: "json", of: []string{"json", "text"}}
	flags.Var(&o.logFormat, "log-format", "json (one object per line) or text (human-readable); logs go to stderr")
	o.logLevel = choice{value: "info", of: []string{"error", "info", "debug"}}
	flags.Var(&o.logLevel, "log-level", "the lowest severity of messages to log")
}

// choice is a flag that accepts one of a few values, in upper or lower case. It implements pflag.Value.
type choice struct {
	value string
	of    []string // the allowed values
}

func (c *choice) String() string { return c.value }

// Type returns the allowed values, which --help shows in place of a type.
func (c *choice) Type() string { return strings.Join(c.of, "|") }

func (c *choice) Set(given string) error {
	i := slices.IndexFunc(c.of, func(v string) bool { return strings.EqualFold(v, given) })
	if i < 0 {
		return fmt.Errorf("must be %s", strings.Join(c.of, " or "))
	}
	c.value = c.of[i]
	return nil
}

const allControllers = "*"

// selectControllers returns the reconcilers with these names, in the order of controllers.All. The name
// * selects all.
func selectControllers(names []string) ([]controllers.Controller, error) {
	known, wanted := controllerNames(), map[string]bool{}
	for _, name := range names {
		name = strings.TrimSpace(name)
		if name != allControllers && !slices.Contains(known, name) {
			return nil, usagef("--controllers: no reconciler is called %q; choose from %s", name, knownControllers())
		}
		wanted[name] = true
	}
	selected := slices.DeleteFunc(controllers.All(), func(c controllers.Controller) bool {
		return !wanted[allControllers] && !wanted[c.Name]
	})
	if len(selected) == 0 {
		return nil, usagef("--controllers names none of the reconcilers; choose from %s", knownControllers())
	}
	return selected, nil
}

func controllerNames() []string {
	var names []string
	for _, c := range controllers.All() {
		names = append(names, c.Name)
	}
	return names
}

func knownControllers() string { return strings.Join(controllerNames(), ", ") }

// validate returns the reconcilers to run, or an error if the flags are invalid or contradict each other. It sends no
// requests. The given function reports whether the user has set a flag on the command line.
func (o *options) validate(changed func(flag string) bool) ([]controllers.Controller, error) {
	selected, err := selectControllers(o.controllers)
	if err != nil {
		return nil, err
	}
	has := func(name string) bool {
		return slices.ContainsFunc(selected, func(c controllers.Controller) bool { return c.Name == name })
	}
	switch {
	case changed("replicas-conflict") && !has(powerController):
		return nil, usagef("--replicas-conflict applies only to %s, which --controllers does not name", powerController)
	case o.forcesPerMinute < 1:
		return nil, usagef("--forces-per-minute must be 1 or more, not %d", o.forcesPerMinute)
	case o.reconciliationTimeout <= 0:
		return nil, usagef("--reconciliation-timeout must be above 0, not %v", o.reconciliationTimeout)
	case o.concurrency < 1:
		return nil, usagef("--max-concurrent-reconciles must be 1 or more, not %d", o.concurrency)
	case o.gracefulShutdownTimeout < 0:
		return nil, usagef("--graceful-shutdown-timeout must be 0 or more, not %v", o.gracefulShutdownTimeout)
	case !o.leaderElect && o.leaderElectNamespace != "":
		return nil, usagef("--leader-elect-namespace contradicts --leader-elect=false")
	}
	return selected, nil
}

// powerController is the only reconciler to which --replicas-conflict applies.
const powerController = "devbox-power"

const examples = `  # On a workstation, against the cluster of the current kubeconfig
  kubectl apply -k config/crd
  manager --leader-elect-namespace=default --log-format=text

  # One reconciler, no ports, no leader election
  manager --controllers=devbox-network --leader-elect=false \
    --metrics-bind-address=0 --health-probe-bind-address=0

  # Keep the replicas of a Devbox that was scaled by hand, and report the conflict in its status
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
Exit codes: 0 stopped by a signal, 1 failed, 2 wrong flags. If the manager fails, the
last line on stderr is the reason.`)
	return b.String()
}

// completeFlags registers the values that shell completion offers for --controllers and for flags of type choice.
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
		// The only possible error is an unknown flag name, which the test of shell completion finds.
		_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(of, cobra.ShellCompDirectiveNoFileComp))
	}
}
