// Command share runs a command, such as go test with several packages, whose tests share one API server and one
// cluster: it starts both, names them in the environment and stops them when the command has ended. Without it each
// package starts those that its tests need. Within another share it runs the command alone.
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
