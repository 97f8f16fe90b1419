package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain lets the scripts run the command itself.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"kubectl-fieldowners": func() {
			os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
		},
	})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			// No cluster: a command that asks for one must say so.
			env.Setenv("KUBECONFIG", env.WorkDir+"/.kube/config")
			return writeNowhere(env.WorkDir + "/.kube")
		},
		UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") == "1",
		RequireExplicitExec: true,
	})
}

// writeNowhere writes a kubeconfig of a server that nobody runs. Without one, clients
// ask localhost:8080, where somebody may.
func writeNowhere(folder string) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "config"), []byte(`apiVersion: v1
kind: Config
clusters: [{name: nowhere, cluster: {server: "https://127.0.0.1:1"}}]
contexts: [{name: nowhere, context: {cluster: nowhere}}]
current-context: nowhere
`), 0o600)
}
