package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

const serviceAccount = "coapply-manager"

// manager is a running cmd/manager, a process of its own.
type manager struct {
	process *os.Process
	probes  string // address of /readyz
	metrics string // address of /metrics
	log     string // file
	exited  chan struct{}
	err     error // of the process; to be read after exited is closed
}

// startManager runs bin/manager, which is in the folder of this program, with the rights of its
// service account, and waits until it is ready.
func (p *platform) startManager(ctx context.Context, replicasConflict string) error {
	kubeconfig, err := p.cluster.ActAs(types.NamespacedName{Namespace: namespace, Name: serviceAccount})
	if err != nil {
		return err
	}
	addresses, err := freeAddresses(2)
	if err != nil {
		return err
	}
	cmd, err := p.cluster.Command(p.program,
		"--kubeconfig", kubeconfig, "--leader-elect-namespace", namespace,
		"--replicas-conflict", replicasConflict, "--log-format", "text",
		"--health-probe-bind-address", addresses[0], "--metrics-bind-address", addresses[1])
	if err != nil {
		return err
	}
	log, err := os.OpenFile(filepath.Join(p.cluster.Dir(), "manager.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("opening the manager's log: %w", err)
	}
	defer log.Close() // the process has its own
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting the manager: %w", err)
	}
	m := &manager{process: cmd.Process, probes: addresses[0], metrics: addresses[1], log: log.Name(), exited: make(chan struct{})}
	go func() {
		defer close(m.exited)
		m.err = cmd.Wait()
	}()
	p.manager = m
	return m.waitReady(ctx)
}

func (m *manager) waitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+m.probes+"/readyz", http.NoBody)
		if err != nil {
			return err
		}
		if response, err := http.DefaultClient.Do(request); err == nil {
			_ = response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-m.exited:
			return m.failure()
		case <-ctx.Done():
			return fmt.Errorf("the manager is not ready: %w\n%s", ctx.Err(), m.lastLines())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// stay returns when the context ends. If the manager ends by itself, the reason is written to
// log, and the cluster goes on with all that people have created.
func (m *manager) stay(ctx context.Context, log io.Writer) {
	select {
	case <-ctx.Done():
		return
	case <-m.exited:
		fmt.Fprintf(log, "%v\nThe control plane and its data stay until Ctrl-C.\n", m.failure())
	}
	<-ctx.Done()
}

// failure returns why the manager ended by itself, with the last lines of its log.
func (m *manager) failure() error {
	return fmt.Errorf("the manager ended: %w\n%s", m.err, m.lastLines())
}

func (m *manager) lastLines() string {
	content, err := os.ReadFile(m.log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(content)), "\n")
	return strings.Join(lines[max(0, len(lines)-10):], "\n")
}

// stopManager asks the manager to end and waits for it. It may be called again.
func (p *platform) stopManager() error {
	m := p.manager
	if m == nil {
		return nil
	}
	p.manager = nil
	select {
	case <-m.exited:
		return nil // stay has written why
	default:
	}
	if err := m.process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stopping the manager: %w", err)
	}
	select {
	case <-m.exited:
	case <-time.After(40 * time.Second): // longer than its own bound
		_ = m.process.Kill()
		<-m.exited
	}
	if m.err != nil {
		return fmt.Errorf("the manager did not end well: %w\n%s", m.err, m.lastLines())
	}
	return nil
}

// freeAddresses returns loopback addresses on which nobody listens now.
func freeAddresses(n int) ([]string, error) {
	addresses := make([]string, 0, n)
	for range n {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("looking for a free port: %w", err)
		}
		defer listener.Close() // held until all are found, so that they differ
		addresses = append(addresses, listener.Addr().String())
	}
	return addresses, nil
}
