package kit

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
)

// Built returns a function that returns the path of a temporary folder. The first call creates the folder, and lets
// build fill it. StopAll deletes the folder.
func Built(build func(folder string) error) func() (folder string, err error) {
	return sync.OnceValues(func() (string, error) {
		folder, err := os.MkdirTemp("", "coapply-built-")
		if err != nil {
			return "", err
		}
		OnStop(func(context.Context) error { return os.RemoveAll(folder) })
		return folder, build(folder)
	})
}

// commandsVariable names a folder with the commands, such as bin/ after make build. Without this variable, each test process
// builds the commands that it needs.
const commandsVariable = "COAPPLY_TEST_COMMANDS"

// BuiltCommands returns a folder with the manager, the kubectl plugin, and the plugin's completion script for kubectl.
func BuiltCommands() (folder string, err error) {
	if folder := os.Getenv(commandsVariable); folder != "" {
		return folder, nil
	}
	return builtCommands()
}

var builtCommands = Built(func(folder string) error {
	if err := BuildCommands(folder, "coapply.dev/cmd/manager", "coapply.dev/cmd/kubectl-fieldowners"); err != nil {
		return err
	}
	const completes = "kubectl_complete-fieldowners"
	script, err := os.ReadFile(File("cmd", "kubectl-fieldowners", completes))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, completes), script, 0o755)
})

// BuildCommands compiles commands to a path, or into a folder. cgo is off, as in make build. In tests with the race
// detector cgo would be on, and each package of the commands would be compiled again.
func BuildCommands(path string, packages ...string) error {
	build := exec.Command("go", append([]string{"build", "-o", path}, packages...)...)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building %q: %w\n%s", packages, err, out)
	}
	return nil
}
