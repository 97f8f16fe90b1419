package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestWrongCommandLine(t *testing.T) {
	for _, test := range []struct {
		args []string
		want string
	}{
		{nil, "demo, run, build or clean"},
		{[]string{"domo"}, `unknown command "domo"`},
		{[]string{"demo", "now"}, `"now"`},
		{[]string{"demo", "--fast"}, "unknown flag: --fast"},
		{[]string{"run", "--port=x"}, `--port is "x", want a whole number from 0 to 65535; see platform run --help`},
		{[]string{"run", "--port=70000"}, "70000"},
		{[]string{"run", "--nodes=0"}, "--nodes 0"},
		{[]string{"run", "--replicas-conflict=Share"}, "Reject or Force"},
	} {
		var stdout, stderr bytes.Buffer
		code := run(t.Context(), test.args, &stdout, &stderr)
		if code != 2 || stdout.Len() > 0 {
			t.Errorf("%q: exit code %d, stdout %q; want 2 and nothing", test.args, code, &stdout)
		}
		if text := stderr.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, test.want) {
			t.Errorf("%q: stderr %q; want one line with %q", test.args, text, test.want)
		}
	}
}

func TestHelp(t *testing.T) {
	for _, sub := range []string{"demo", "run", "build", "clean"} {
		var stdout, stderr bytes.Buffer
		if code := run(t.Context(), []string{sub, "--help"}, &stdout, &stderr); code != 0 {
			t.Errorf("%s --help: exit code %d", sub, code)
		}
		if text := stdout.String(); !strings.Contains(text, "Examples:") || !strings.Contains(text, "platform "+sub) {
			t.Errorf("%s --help has no example:\n%s", sub, text)
		}
	}
}

// interrupter is a terminal whose reader presses Ctrl-C once a text has come.
type interrupter struct {
	bytes.Buffer
	text      string
	interrupt context.CancelFunc
}

func (i *interrupter) Write(p []byte) (int, error) {
	n, err := i.Buffer.Write(p)
	if strings.Contains(i.String(), i.text) {
		i.interrupt()
	}
	return n, err
}

// TestManagerThatEnds: the data of a platform outlives its manager.
func TestManagerThatEnds(t *testing.T) {
	ctx, interrupt := context.WithTimeout(t.Context(), time.Minute)
	defer interrupt()
	log := filepath.Join(t.TempDir(), "manager.log")
	if err := os.WriteFile(log, []byte("leader election lost\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m := &manager{log: log, exited: make(chan struct{}), err: errors.New("exit status 1")}
	close(m.exited)
	out := &interrupter{text: "with its data until Ctrl-C", interrupt: interrupt}
	m.stay(ctx, out)
	if !errors.Is(ctx.Err(), context.Canceled) {
		t.Errorf("it ended before Ctrl-C, or never said that it waits for it: %q", out)
	}
	if text := out.String(); !strings.Contains(text, "exit status 1") || !strings.Contains(text, "leader election lost") {
		t.Errorf("it does not say why the manager ended: %q", text)
	}
}

// TestKubeconfigOfRuns: the first run has the path that stays the same, a second one beside it its
// own, and a run that was killed does not keep it.
func TestKubeconfigOfRuns(t *testing.T) {
	folder := t.TempDir()
	link, first, second := filepath.Join(folder, "kubeconfig"), filepath.Join(folder, "first"), filepath.Join(folder, "second")
	for _, own := range []string{first, second} {
		if err := os.WriteFile(own, []byte(own), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	leadsTo := func(want string) {
		t.Helper()
		if content, err := os.ReadFile(link); err != nil || string(content) != want {
			t.Errorf("%s leads to %q, %v; want %s", link, content, err, want)
		}
	}
	path, unlink := linkKubeconfig(link, first)
	if other, unlinkOther := linkKubeconfig(link, second); path != link || other != second {
		t.Errorf("the paths of two runs at once are %s and %s", path, other)
	} else {
		unlinkOther()
	}
	leadsTo(first)
	unlink()
	if _, err := os.Lstat(link); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the link outlives its run: %v", err)
	}
	linkKubeconfig(link, first)
	if err := os.Remove(first); err != nil { // as after a kill
		t.Fatal(err)
	}
	if path, _ := linkKubeconfig(link, second); path != link {
		t.Errorf("a killed run keeps the link: %s", path)
	}
	leadsTo(second)
}

func TestCommandLine(t *testing.T) {
	for _, test := range []struct{ reason, args, want string }{
		{"short", "get nodes", "$ kubectl get nodes"},
		{"quoted where a shell would take it apart", `patch x --patch {"a":1}`, `$ kubectl patch x --patch '{"a":1}'`},
		{"long", "get " + strings.Repeat("a", 40) + " " + strings.Repeat("b", 40),
			"$ kubectl get " + strings.Repeat("a", 40) + " \\\n    " + strings.Repeat("b", 40)},
	} {
		if got := commandLine(strings.Fields(test.args)); got != test.want {
			t.Errorf("%s: got %q, want %q", test.reason, got, test.want)
		}
	}
}

func TestUnlessCondition(t *testing.T) {
	ready := []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Here"}}
	for _, test := range []struct{ conditionType, status, reason, want string }{
		{"Ready", "True", "Here", ""},
		{"Ready", "True", "", ""},
		{"Ready", "True", "There", "Ready is True (Here: )"},
		{"Ready", "False", "", "Ready is True (Here: )"},
		{"Applied", "True", "", "no condition Applied"},
	} {
		if got := unlessCondition(ready, test.conditionType, test.status, test.reason); got != test.want {
			t.Errorf("%v: got %q", test, got)
		}
	}
}
