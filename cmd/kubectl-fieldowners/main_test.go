package main

import (
	"context"
	"os"
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
			env.Setenv("KUBECONFIG", env.WorkDir+"/no-kubeconfig")
			return nil
		},
		UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") == "1",
		RequireExplicitExec: true,
	})
}
