package commands

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// The scripts run the commands in this process: paths are absolute, nobody answers questions, and nothing may start a
// control plane.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:   "testdata/script",
		Setup: func(env *testscript.Env) error { return measuredRun(env.WorkDir + "/run") },
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			// compare ends with 0; with ! it ends with 2, an error of one line.
			"compare": func(ts *testscript.TestScript, neg bool, args []string) {
				if !neg {
					compareIn(ts, exitDone, args)
					return
				}
				said := strings.TrimSpace(compareIn(ts, exitError, args))
				if !strings.HasPrefix(said, "compare: ") || strings.Contains(said, "\n") {
					ts.Fatalf("the error is not one line:\n%s", said)
				}
			},
			// finds is compare that ends with 1.
			"finds": func(ts *testscript.TestScript, _ bool, args []string) { compareIn(ts, exitFound, args) },
			// change FILE OLD NEW replaces one string by another, once.
			"change": func(ts *testscript.TestScript, _ bool, args []string) {
				content := ts.ReadFile(args[0])
				if !strings.Contains(content, args[1]) {
					ts.Fatalf("%s has no %q", args[0], args[1])
				}
				ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Replace(content, args[1], args[2], 1)), 0o600))
			},
			// shorten FILE cuts off its last forty bytes, as a crash does.
			"shorten": func(ts *testscript.TestScript, _ bool, args []string) {
				content := ts.ReadFile(args[0])
				ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(content[:len(content)-40]), 0o600))
			},
		},
	})
}

func compareIn(ts *testscript.TestScript, want int, args []string) (stderr string) {
	var out, errs bytes.Buffer
	code := Run(context.Background(), Catalogue(), args, Streams{Out: &out, Err: &errs})
	fmt.Fprint(ts.Stdout(), &out)
	fmt.Fprint(ts.Stderr(), &errs)
	if code != want {
		ts.Fatalf("compare ends with %d, want %d", code, want)
	}
	return errs.String()
}
