package kit

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"coapply.dev/internal/localcluster"
)

// managerBinary is cmd/manager, built once.
var managerBinary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "coapply-manager-")
	if err != nil {
		return "", err
	}
	OnStop(func(context.Context) error { return os.RemoveAll(dir) })
	path := filepath.Join(dir, "manager")
	return path, BuildCommands(path, "coapply.dev/cmd/manager")
})

// BuildCommands compiles commands to a path, or into a folder, without cgo as make build does. Tests with the race
// detector have cgo, with which every library of a command would be compiled once more.
func BuildCommands(path string, packages ...string) error {
	build := exec.Command("go", append([]string{"build", "-o", path}, packages...)...)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building %q: %w\n%s", packages, err, out)
	}
	return nil
}

// Process is a manager that runs beside the test.
type Process struct {
	Cmd    *exec.Cmd
	Stderr bytes.Buffer
	exited chan struct{}
}

// StartManager starts cmd/manager, and ends it with the test.
func StartManager(t *testing.T, kubeconfig string, args ...string) *Process {
	t.Helper()
	binary, err := managerBinary()
	if err != nil {
		t.Fatal(err)
	}
	p := &Process{exited: make(chan struct{})}
	p.Cmd = exec.Command(binary, append([]string{"--kubeconfig", kubeconfig}, args...)...)
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

// Wait returns the exit code and the last line of a manager that ends by itself.
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

// Stop asks the process to end, and waits until it has.
func (p *Process) Stop(t *testing.T) {
	t.Helper()
	if err := p.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code, last := p.Wait(t); code != 0 {
		t.Errorf("after SIGTERM: exit code %d, %s", code, last)
	}
}

// FreeAddress returns an address of this host that nobody listens at.
func FreeAddress(t *testing.T) string {
	t.Helper()
	addresses, err := localcluster.FreeAddresses(1)
	if err != nil {
		t.Fatal(err)
	}
	return addresses[0]
}

// Ready says why the manager is not ready; "" is that it is.
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
