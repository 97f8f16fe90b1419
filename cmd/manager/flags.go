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

// options are the flags.
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

// addFlags adds the flags, bound to o, with their defaults.
func (o *options) addFlags(flags *pflag.FlagSet) {
	flags.SortFlags = false
	flags.StringVar(&o.kubeconfig, "kubeconfig", "",
		"`file` that says how to reach the cluster; without it $KUBECONFIG, then ~/.kube/config, then the pod's service account")
	flags.StringSliceVar(&o.controllers, "controllers", []string{allControllers},
		"comma-separated `names` of the reconcilers to run, * for all (they are listed above)")
	o.replicasConflict = choice{value: apply.Force.String(), of: []string{apply.Reject.String(), apply.Force.String()}}
	flags.Var(&o.replicasConflict, "replicas-conflict",
		"what devbox-power does when someone else, a person with kubectl scale or an autoscaler, owns the replicas: "+
			"Reject leaves them and reports the conflict, Force takes them")
	flags.IntVar(&o.forcesPerMinute, "forces-per-minute", 3,
		"how often a reconciler may force a field within a minute; if the field is then taken back once more, the reconciler stops forcing "+
			"it for a minute at first, and reports both owners")
	flags.DurationVar(&o.reconciliationTimeout, "reconciliation-timeout", time.Minute,
		"how long one reconciliation may take before it is cancelled and tried again; above 0")
	flags.IntVar(&o.concurrency, "max-concurrent-reconciles", 4,
		"how many objects each reconciler works on at a time, so that a slow one holds up no other; 1 or more")
	flags.BoolVar(&o.leaderElect, "leader-elect", true,
		"let one replica at a time reconcile, the others wait with filled caches; needed with more than one replica")
	flags.StringVar(&o.leaderElectNamespace, "leader-elect-namespace", "",
		"`namespace` of the Lease "+leaderElectionID+"; the pod's own by default, so needed outside a cluster")
	flags.StringVar(&o.metricsAddress, "metrics-bind-address", ":8443",
		"`address` that serves /metrics over HTTPS to whoever may get it by RBAC, 0 for none")
	flags.StringVar(&o.probeAddress, "health-probe-bind-address", ":8081",
		"`address` that serves /healthz and /readyz over HTTP, 0 for none")
	flags.DurationVar(&o.gracefulShutdownTimeout, "graceful-shutdown-timeout", 20*time.Second,
		"how long running reconciliations may take to end after SIGINT or SIGTERM; a second signal ends at once")
	o.logFormat = choice{value: "json", of: []string{"json", "text"}}
	flags.Var(&o.logFormat, "log-format", "json, one object a line, or text for reading; logs go to stderr")
	o.logLevel = choice{value: "info", of: []string{"error", "info", "debug"}}
	flags.Var(&o.logLevel, "log-level", "the least severe messages to log")
}

// choice is a flag with a few values, in upper or lower case.
type choice struct {
	value string
	of    []string
}

func (c *choice) String() string { return c.value }

// Type implements pflag.Value: --help shows it as the value.
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

// selectControllers returns the named reconcilers in the order of controllers.All.
func selectControllers(names []string) ([]controllers.Controller, error) {
	known, wanted := controllerNames(), map[string]bool{}
	for _, name := range names {
		name = strings.TrimSpace(name)
		if name != allControllers && !slices.Contains(known, name) {
			return nil, usagef("--controllers: no reconciler is called %q; known are %s", name, knownControllers())
		}
		wanted[name] = true
	}
	selected := slices.DeleteFunc(controllers.All(), func(c controllers.Controller) bool {
		return !wanted[allControllers] && !wanted[c.Name]
	})
	if len(selected) == 0 {
		return nil, usagef("--controllers names none; known are %s", knownControllers())
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

// validate reports what is wrong with the flags as given, without asking the
// machine or the cluster, and otherwise the reconcilers to run.
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
		return nil, usagef("--replicas-conflict is about %s, which --controllers leaves out", powerController)
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

// powerController has a flag of its own.
const powerController = "devbox-power"

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
