// Command kubectl-fieldowners is the kubectl plugin "fieldowners". The plugin shows which field
// manager owns which field of an object, which applies would conflict, and how to resolve conflicts.
//
//	kubectl fieldowners deployment/web
//	kubectl fieldowners audit -A
//	kubectl fieldowners check -f web.yaml --field-manager ci
//
// The exit codes are those of kubectl diff: 0 without findings, 1 with findings, 2 after an error.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	_ "k8s.io/client-go/plugin/pkg/client/auth" // registers the credential plugins for kubeconfigs

	"coapply.dev/cmd/kubectl-fieldowners/internal/console"
	_ "coapply.dev/cmd/kubectl-fieldowners/internal/english" // keeps kubectl's packages from loading translations
)

func main() {
	if os.Getenv("GOGC") == "" { // garbage collection would take a third of an audit's time, and memory use is small
		debug.SetGCPercent(300)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // after the first signal, a second signal ends the process at once
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return console.Run(ctx, newRoot, args, stdin, stdout, stderr)
}
