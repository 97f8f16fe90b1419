package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"coapply.dev/internal/localcluster"
)

const serviceAccount = "coapply-manager"

// manager is a running process of cmd/manager.
type manager struct {
	end     context.CancelFunc // asks the process to end
	probes  string             // address that serves /readyz
	metrics string             // address that serves /metrics
	log     string             // path of the log file
	exited  chan struct{}
	err     error // the result of the process; read it only after exited is closed
}

// startManager starts bin/manager with the rights of the manager's service account, and waits until the
// manager is ready.
func (p *platform) startManager(ctx context.Context, replicasConflict string) error {
	kubeconfig, err := p.cluster.ActAs(types.NamespacedName{Namespace: namespace, Name: serviceAccount})
	if err != nil {
		return err
	}
	addresses, err := localcluster.FreeAddresses(2)
	if err != nil {
		return err
	}
	m := &manager{
		probes: addresses[0], metrics: addresses[1], log: filepath.Join(p.cluster.Dir(), "manager.log"), exited: make(chan struct{}),
	}
	untilStopped, end := context.WithCancel(context.WithoutCancel(ctx))
	m.end = end
	cmd, err := p.cluster.Command(untilStopped, p.program,
		"--kubeconfig", kubeconfig, "--leader-elect-namespace", namespace,
		"--replicas-conflict", replicasConflict, "--log-format", "text",
		"--health-probe-bind-address", m.probes, "--metrics-bind-address", m.metrics)
	if err != nil {
		return err
	}
	log, err := os.OpenFile(m.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("opening the manager's log: %w", err)
	}
	defer log.Close() // the manager's process has its own copy of the file descriptor
	cmd.Stderr = log
	cmd.WaitDelay = 40 * time.Second // how long the manager may take to end before it is killed; its own limit is shorter
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting the manager: %w", err)
	}
	go func() {
		defer close(m.exited)
		m.err = cmd.Wait()
	}()
	p.manager = m
	return m.waitReady(ctx)
}

func (m *manager) waitReady(ctx context.Context) error {
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		select {
		case <-m.exited:
			return false, m.failure()
		default:
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+m.probes+"/readyz", http.NoBody)
		if err != nil {
			return false, err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return false, nil //nolint:nilerr // the manager does not listen yet
		}
		return response.StatusCode == http.StatusOK, response.Body.Close()
	})
	if wait.Interrupted(err) {
		return fmt.Errorf("waiting for the manager to be ready: %w\n%s", err, m.lastLines())
	}
	return err
}

// stay waits until ctx ends. If the manager ends before that, stay writes the reason to log and
// continues to wait, so that the control plane keeps running with all its objects.
func (m *manager) stay(ctx context.Context, log io.Writer) {
	select {
	case <-ctx.Done():
		return
	case <-m.exited:
		fmt.Fprintf(log, "%v\nThe control plane keeps running with its data until Ctrl-C.\n", m.failure())
	}
	<-ctx.Done()
}

// failure returns an error for a manager that ended by itself, with the last lines of the manager's log.
func (m *manager) failure() error {
	return fmt.Errorf("the manager ended by itself: %w\n%s", m.err, m.lastLines())
}

func (m *manager) lastLines() string {
	content, err := os.ReadFile(m.log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(content)), "\n")
	return strings.Join(lines[max(0, len(lines)-10):], "\n")
}

// stopManager asks the manager to end, and waits until it has ended. It may be called more than once.
func (p *platform) stopManager() error {
	m := p.manager
	if m == nil {
		return nil
	}
	p.manager = nil
	select {
	case <-m.exited:
		return nil // the manager ended by itself, and stay has written the reason
	default:
	}
	m.end()
	<-m.exited
	if m.err != nil && !errors.Is(m.err, context.Canceled) { // Canceled is the result of m.end
		return fmt.Errorf("stopping the manager: %w\n%s", m.err, m.lastLines())
	}
	return nil
}
