package kit

import (
	"bytes"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"coapply.dev/internal/localcluster"
)

// Process is a running process of cmd/manager.
type Process struct {
	Cmd    *exec.Cmd
	Stderr bytes.Buffer
	exited chan struct{}
}

// StartManager starts cmd/manager, and kills it at the end of the test.
func StartManager(t *testing.T, kubeconfig string, args ...string) *Process {
	t.Helper()
	folder, err := BuiltCommands()
	if err != nil {
		t.Fatal(err)
	}
	p := &Process{exited: make(chan struct{})}
	p.Cmd = exec.Command(filepath.Join(folder, "manager"), append([]string{"--kubeconfig", kubeconfig}, args...)...)
	p.Cmd.Stderr = &p.Stderr
	if err := p.Cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.exited)
		_ = p.Cmd.Wait() // the exit code is looked at
	}()
	t.Cleanup(func() {
		_ = p.Cmd.Process.Kill()
		<-p.exited
		if t.Failed() {
			t.Logf("log of manager %d:\n%s", p.Cmd.Process.Pid, p.Stderr.String())
		}
	})
	return p
}

// Wait waits until the manager has ended, and returns its exit code and the last line of its log.
func (p *Process) Wait(t *testing.T) (code int, lastLine string) {
	t.Helper()
	WaitFor(t, "the manager ends", func() string {
		select {
		case <-p.exited:
			return ""
		default:
			return "it runs"
		}
	})
	lines := strings.Split(strings.TrimSuffix(p.Stderr.String(), "\n"), "\n")
	return p.Cmd.ProcessState.ExitCode(), lines[len(lines)-1]
}

// Stop sends SIGTERM to the process, and waits until it has ended. The exit code must be 0.
func (p *Process) Stop(t *testing.T) {
	t.Helper()
	if err := p.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code, last := p.Wait(t); code != 0 {
		t.Errorf("after SIGTERM: exit code %d, %s", code, last)
	}
}

// FreeAddress returns an address of this host on which no process listens.
func FreeAddress(t *testing.T) string {
	t.Helper()
	addresses, err := localcluster.FreeAddresses(1)
	if err != nil {
		t.Fatal(err)
	}
	return addresses[0]
}

// Ready returns "" if the manager is ready. Otherwise it returns the reason.
func Ready(address string) string {
	response, err := http.Get("http://" + address + "/readyz")
	if err != nil {
		return err.Error()
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return response.Status
	}
	return ""
}
