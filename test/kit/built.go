package kit

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync"
)

// Built returns the folder that build fills when it is first asked for. StopAll deletes it.
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
