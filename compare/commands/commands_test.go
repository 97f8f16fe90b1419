package commands

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"coapply.dev/compare/bench"
)

// Every example of the help does what it says, up to the folder that is not there.
func TestExamplesWork(t *testing.T) {
	file := filepath.Join(t.TempDir(), "letter.txt")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	root := newRoot(Catalogue(), Streams{})
	for _, cmd := range append([]*cobra.Command{root}, root.Commands()...) {
		if cmd.Example == "" && !cmd.Hidden {
			t.Errorf("%s has no examples", cmd.Name())
		}
		for line := range strings.Lines(cmd.Example) {
			line, _, _ = strings.Cut(line, "#")
			args := strings.Fields(line)[1:]
			if args[0] == "run" {
				args = append(args, "-o", filepath.Join(file, "run"))
			}
			var out, stderr bytes.Buffer
			code := Run(t.Context(), Catalogue(), args, Streams{Out: &out, Err: &stderr})
			stopped := strings.Contains(stderr.String(), "name another folder with -o") || strings.Contains(stderr.String(), "no such file")
			if code != exitDone && !stopped || args[0] == "run" && !stopped {
				t.Errorf("%s: %d, %s", line, code, &stderr)
			}
		}
	}
}

func TestHelpFitsATerminal(t *testing.T) {
	root := newRoot(Catalogue(), Streams{})
	for _, cmd := range append([]*cobra.Command{root}, root.Commands()...) {
		for line := range strings.Lines(cmd.Long + "\n" + cmd.Example) {
			if len(strings.TrimSpace(line)) > 110 {
				t.Errorf("%s, %d columns: %s", cmd.Name(), len(line), line)
			}
		}
	}
}

func TestCatalogueThatCannotBe(t *testing.T) {
	c := Catalogue()
	c.Arms = append(c.Arms, c.Arms[0])
	var stderr bytes.Buffer
	if code := Run(t.Context(), c, []string{"list"}, Streams{Err: &stderr}); code != exitError || !strings.Contains(stderr.String(), "is registered twice") {
		t.Errorf("%d, %s", code, &stderr)
	}
}

// Ctrl-C before there is a cluster.
func TestInterruptedRun(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	folder := t.TempDir()
	kubeconfig := filepath.Join(folder, "config")
	content := "clusters: [{name: a, cluster: {server: 'https://127.0.0.1:1'}}]\ncontexts: [{name: a, context: {cluster: a}}]\ncurrent-context: a\n"
	if err := os.WriteFile(kubeconfig, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	dir := filepath.Join(folder, "run")
	code := Run(ended, Catalogue(), []string{"run", "--profile", "quick", "--yes", "--kubeconfig", kubeconfig, "-o", dir}, Streams{Err: &stderr})
	if code != exitInterrupted || !strings.HasPrefix(stderr.String(), "compare: interrupted before anything was measured") {
		t.Errorf("%d, %s", code, &stderr)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("a folder without a run is left: %v", err)
	}
}

// The command that a report names makes the same run again.
func TestCommandRepeatsTheRun(t *testing.T) {
	for given, want := range map[string]string{
		"--profile quick -o x": "compare run --profile quick --seed 7",
		"--profile=review -y":  "compare run --profile review --seed 7",
		"--workload hot-object --arms ssa,apply --writers 1,8 --rtt 5ms,1s": "compare run --arms ssa,apply --rtt 5ms,1s " +
			"--workload hot-object --writers 1,8 --trials 10 --seed 7",
		"--workload hot-object --trials 6 --kubeconfig /home/me/config --context a": "compare run --context a --trials 6 " +
			"--workload hot-object --kubeconfig KUBECONFIG --seed 7",
	} {
		f := &runFlags{}
		cmd := &cobra.Command{}
		f.add(cmd)
		if err := cmd.ParseFlags(strings.Fields(given)); err != nil {
			t.Fatal(err)
		}
		profile, plan, err := f.plan(cmd, Catalogue())
		if err != nil {
			t.Fatal(err)
		}
		f.seed = 7
		got := f.command(cmd, profile)
		if got != want || (profile == bench.Custom) != strings.Contains(given, "--workload") || len(plan) == 0 {
			t.Errorf("%s: %s, a %s run of %d cells", given, got, profile, len(plan))
		}
	}
}
