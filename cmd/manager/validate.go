package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"syscall"

	"coapply.dev/platform/controllers"
)

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
