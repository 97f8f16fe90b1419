package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	cliflag "k8s.io/component-base/cli/flag"

	"coapply.dev/apply"
	"coapply.dev/internal/nearest"
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
	logLevel                logLevel
}

// flagGroups returns the flags, bound to o, with their defaults. --help shows them group by
// group.
func (o *options) flagGroups() (groups cliflag.NamedFlagSets) {
	flags := groups.FlagSet("Cluster")
	flags.StringVar(&o.kubeconfig, "kubeconfig", "",
		"`file` that says how to reach the cluster; without it $KUBECONFIG, then ~/.kube/config, then the pod's service account")

	flags = groups.FlagSet("Reconcilers")
	flags.StringSliceVar(&o.controllers, "controllers", []string{allControllers},
		"comma-separated `names` of the reconcilers to run, * for all (they are listed above)")
	o.replicasConflict = choice{value: apply.Force.String(), of: []string{apply.Reject.String(), apply.Force.String()}}
	flags.Var(&o.replicasConflict, "replicas-conflict",
		"what devbox-power does when someone else, a person with kubectl scale or an autoscaler, owns the replicas: "+
			"Reject leaves them and reports the conflict, Force takes them")
	flags.IntVar(&o.forcesPerMinute, "forces-per-minute", 3,
		"how often a reconciler may force a field within a minute; if the field is then taken back once more, the reconciler stops forcing "+
			"it for a minute at first, and reports both owners; 0 never stops")
	flags.DurationVar(&o.reconciliationTimeout, "reconciliation-timeout", time.Minute,
		"how long one reconciliation may take before it is cancelled and tried again; above 0")
	flags.IntVar(&o.concurrency, "max-concurrent-reconciles", 4,
		"how many objects each reconciler works on at a time, so that a slow one holds up no other; 1 or more")

	flags = groups.FlagSet("Leader election")
	flags.BoolVar(&o.leaderElect, "leader-elect", true,
		"let one replica at a time reconcile, the others wait with filled caches; needed with more than one replica")
	flags.StringVar(&o.leaderElectNamespace, "leader-elect-namespace", "",
		"`namespace` of the Lease "+leaderElectionID+"; the pod's own by default, so needed outside a cluster")

	flags = groups.FlagSet("Serving and stopping")
	flags.StringVar(&o.metricsAddress, "metrics-bind-address", ":8443",
		"`address` that serves /metrics over HTTPS to whoever may get it by RBAC, 0 for none")
	flags.StringVar(&o.probeAddress, "health-probe-bind-address", ":8081",
		"`address` that serves /healthz and /readyz over HTTP, 0 for none")
	flags.DurationVar(&o.gracefulShutdownTimeout, "graceful-shutdown-timeout", 20*time.Second,
		"how long running reconciliations may take to end after SIGINT or SIGTERM; a second signal ends at once")

	flags = groups.FlagSet("Logging")
	o.logFormat = choice{value: "json", of: []string{"json", "text"}}
	flags.Var(&o.logFormat, "log-format", "json, one object a line, or text for reading; logs go to stderr")
	flags.Var(&o.logLevel, "log-level", "error, info, debug or a verbosity from 0 (info) to 10; bodies of requests are logged at none")
	return groups
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

// logLevel is the lowest slog level that is logged. logr's verbosity n is slog's level -n. The
// zero value is info.
type logLevel slog.Level

const (
	debugLevel   = logLevel(-1) // as controller-runtime's own --zap-log-level has it
	maxVerbosity = 10
)

func (l *logLevel) String() string {
	switch *l {
	case logLevel(slog.LevelError):
		return "error"
	case logLevel(slog.LevelInfo):
		return "info"
	case debugLevel:
		return "debug"
	}
	return strconv.Itoa(l.verbosity())
}

// Type implements pflag.Value: --help shows it as the value.
func (l *logLevel) Type() string { return "level" }

func (l *logLevel) Set(given string) error {
	switch strings.ToLower(given) {
	case "error":
		*l = logLevel(slog.LevelError)
	case "info":
		*l = logLevel(slog.LevelInfo)
	case "debug":
		*l = debugLevel
	default:
		n, err := strconv.Atoi(given)
		if err != nil || n < 0 || n > maxVerbosity {
			return fmt.Errorf("must be error, info, debug or a number from 0 to %d", maxVerbosity)
		}
		*l = logLevel(-n)
	}
	return nil
}

// verbosity returns the level as verbosity of klog and logr.
func (l *logLevel) verbosity() int { return max(0, -int(*l)) }

const allControllers = "*"

// selectControllers returns the named reconcilers in the order of controllers.All.
func selectControllers(names []string) ([]controllers.Controller, error) {
	known, wanted := controllerNames(), map[string]bool{}
	for _, name := range names {
		name = strings.TrimSpace(name)
		if name != allControllers && !slices.Contains(known, name) {
			return nil, unknownController(name)
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

func unknownController(name string) error {
	if near := nearest.Names(name, controllerNames()); len(near) > 0 {
		return usagef("--controllers: no reconciler is called %q, did you mean %q? Known are %s", name, near[0], knownControllers())
	}
	return usagef("--controllers: no reconciler is called %q; known are %s", name, knownControllers())
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
	case o.forcesPerMinute < 0:
		return nil, usagef("--forces-per-minute must be 0 or more, not %d", o.forcesPerMinute)
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

// checkAddresses reports an address that cannot be listened on. Between this and the servers' start another process may
// take the port; then starting reports it.
func (o *options) checkAddresses(ctx context.Context) error {
	for _, server := range []struct{ flag, address string }{
		{"metrics-bind-address", o.metricsAddress},
		{"health-probe-bind-address", o.probeAddress},
	} {
		if server.address == "0" { // as controller-runtime has it
			continue
		}
		if server.address == "" { // which stands for any port
			return usagef("--%s must be HOST:PORT, :PORT or 0 for none", server.flag)
		}
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp", server.address)
		if _, machine := errors.AsType[*os.SyscallError](err); err != nil && !machine {
			return usagef("--%s must be HOST:PORT, :PORT or 0 for none: %w", server.flag, err)
		}
		if errors.Is(err, syscall.EADDRINUSE) {
			return fmt.Errorf("--%s %s: the port is taken, by another process or by the other of our two addresses", server.flag, server.address)
		}
		if err != nil {
			return fmt.Errorf("--%s: %w", server.flag, err)
		}
		defer listener.Close() // held until both are open, so that they differ
	}
	return nil
}
