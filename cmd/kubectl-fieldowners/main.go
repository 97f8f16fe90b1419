// Command kubectl-fieldowners is the kubectl plugin "fieldowners": it shows who owns which
// field of an object, which applies would conflict, and what to do about it.
//
//	kubectl fieldowners deployment/web
//	kubectl fieldowners audit -A
//	kubectl fieldowners check -f web.yaml --field-manager ci
//
// Exit codes are those of kubectl diff: 0 if nothing was found, 1 if something was, 2 for an error.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	_ "k8s.io/client-go/plugin/pkg/client/auth" // the credential plugins that kubeconfigs name

	"coapply.dev/cmd/kubectl-fieldowners/internal/console"
	_ "coapply.dev/cmd/kubectl-fieldowners/internal/english" // kubectl loads no translations
)

func main() {
	if os.Getenv("GOGC") == "" { // little memory is in use: collecting garbage would take a third of the time of an audit
		debug.SetGCPercent(300)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return console.Run(ctx, newRoot, args, stdin, stdout, stderr)
}
