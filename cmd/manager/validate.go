package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"syscall"

	"coapply.dev/internal/controller"
)

// off is the address of a server that is turned off, as in controller-runtime.
const off = "0"

// validate returns the reconcilers to run, or an error about the flags, without looking at the
// machine or the cluster.
func (o *options) validate(changed func(flag string) bool) ([]controller.Controller, error) {
	selected, err := selectControllers(o.controllers)
	if err != nil {
		return nil, err
	}
	has := func(name string) bool {
		return slices.ContainsFunc(selected, func(c controller.Controller) bool { return c.Name == name })
	}
	switch {
	case changed("replicas-conflict") && !has(powerController):
		return nil, usagef("--replicas-conflict is about %s, which --controllers leaves out", powerController)
	case changed("fights-per-minute") && !has(fightsController):
		return nil, usagef("--fights-per-minute is about %s, which --controllers leaves out", fightsController)
	case o.fightsPerMinute < 0:
		return nil, usagef("--fights-per-minute must be 0 or more, not %d", o.fightsPerMinute)
	case o.reconciliationTimeout <= 0:
		return nil, usagef("--reconciliation-timeout must be above 0, not %v", o.reconciliationTimeout)
	case o.concurrency < 1:
		return nil, usagef("--max-concurrent-reconciles must be 1 or more, not %d", o.concurrency)
	case o.gracefulShutdownTimeout < 0:
		return nil, usagef("--graceful-shutdown-timeout must be 0 or more, not %v", o.gracefulShutdownTimeout)
	case !o.leaderElect && o.leaderElectNamespace != "":
		return nil, usagef("--leader-elect-namespace contradicts --leader-elect=false")
	}
	return selected, o.validateAddresses()
}

// Names of reconcilers that have flags of their own.
const (
	powerController  = "devbox-power"
	fightsController = "fights"
)

func (o *options) validateAddresses() error {
	metrics, err := parseAddress("metrics-bind-address", o.metricsAddress)
	if err != nil {
		return err
	}
	probe, err := parseAddress("health-probe-bind-address", o.probeAddress)
	if err != nil {
		return err
	}
	sameHost := metrics.host == probe.host || metrics.host == "" || probe.host == ""
	if metrics.port == probe.port && metrics.port != 0 && sameHost {
		return usagef("--metrics-bind-address and --health-probe-bind-address both want port %d", metrics.port)
	}
	return nil
}

type address struct {
	host string
	port int // 0: off, or any free port
}

func parseAddress(flag, given string) (address, error) {
	if given == off {
		return address{}, nil
	}
	host, portText, err := net.SplitHostPort(given)
	if err != nil {
		return address{}, usagef("--%s must be HOST:PORT, :PORT or 0 for none, not %q", flag, given)
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return address{}, usagef("--%s must end in a port from 0 to 65535, not %q", flag, portText)
	}
	return address{host, int(port)}, nil
}

// checkAddresses returns an error for an address on which the process cannot listen. If another
// process takes the port after that, the start of the server fails.
func (o *options) checkAddresses(ctx context.Context) error {
	for _, server := range []struct{ flag, address string }{
		{"metrics-bind-address", o.metricsAddress},
		{"health-probe-bind-address", o.probeAddress},
	} {
		if err := checkAddress(ctx, server.address); err != nil {
			return fmt.Errorf("--%s %s: %w", server.flag, server.address, err)
		}
	}
	return nil
}

func checkAddress(ctx context.Context, given string) error {
	if given == off {
		return nil
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", given)
	if errors.Is(err, syscall.EADDRINUSE) {
		_, port, _ := net.SplitHostPort(given)
		return fmt.Errorf("port %s is taken by another process", port)
	}
	if err != nil {
		return err
	}
	return listener.Close()
}
