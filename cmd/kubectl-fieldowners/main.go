package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	_ "k8s.io/client-go/plugin/pkg/client/auth" // the credential plugins that kubeconfigs name

	"coapply.dev/cmd/kubectl-fieldowners/internal/console"
	_ "coapply.dev/cmd/kubectl-fieldowners/internal/english" // kubectl loads no translations
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends what does not heed the first
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return console.Run(ctx, newRoot, args, stdin, stdout, stderr)
}
