// Command share starts one API server and one cluster, and runs a command with both in its environment, such as go test
// with several packages. It stops both when the command has ended. Without share, each package starts what its tests
// need. If the environment already names an API server and a cluster, share only runs the command.
//
//	go run ./test/cmd/share go test ./test/integration/...
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"coapply.dev/test/kit"
)

func main() { os.Exit(run(os.Args[1:])) }

func run(command []string) int {
	if len(command) == 0 {
		fmt.Fprintln(os.Stderr, "usage: share COMMAND [ARGUMENT]...")
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	environment, err := kit.Share(ctx)
	defer kit.StopAll()
	if err != nil {
		fmt.Fprintln(os.Stderr, "share:", err)
		return 1
	}
	child := exec.CommandContext(ctx, command[0], command[1:]...) //nolint:gosec // it runs what it is given, as time(1) does
	child.Cancel = func() error { return child.Process.Signal(os.Interrupt) }
	child.Stdin, child.Stdout, child.Stderr = os.Stdin, os.Stdout, os.Stderr
	child.Env = append(os.Environ(), environment...)
	err = child.Run()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		return failed.ExitCode()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "share:", err)
		return 1
	}
	return 0
}
