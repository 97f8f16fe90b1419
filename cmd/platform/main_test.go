package main

import (
	"bytes"
	"strings"
	"testing"
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
		{[]string{"run", "--port=x"}, "--port"},
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

func TestWrapped(t *testing.T) {
	if got, want := wrapped("one  two three four", 9), "one two\nthree\nfour"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
