package plugin

import (
	"runtime"
	"slices"
	"strings"
	"testing"

	"coapply.dev/test/kit"
)

// plugin runs kubectl fieldowners against server(t), to its end.
func plugin(t testing.TB, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	command := kit.KubectlCommand(t, kit.Server(t), append([]string{"fieldowners"}, args...)...)
	return kit.OutputOf(t, command)
}

func TestPluginIsFoundByKubectl(t *testing.T) {
	command := kit.KubectlCommand(t, kit.Server(t))
	command.Args = append(command.Args, "fieldowners", "get", "namespace/default", "-o", "name")
	stdout, stderr, code := kit.OutputOf(t, command)
	if stdout != "namespace/default\n" || stderr != "" || code != 0 {
		t.Errorf("exit code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
}

func TestPluginVersion(t *testing.T) {
	stdout, stderr, code := plugin(t, "version")
	if !strings.HasPrefix(stdout, "kubectl fieldowners ") || !strings.Contains(stdout, runtime.Version()) || stderr != "" || code != 0 {
		t.Errorf("exit code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
}

// TestPluginComplete asks as the shell functions of kubectl completion do.
func TestPluginComplete(t *testing.T) {
	c := kit.NewClient(t, kit.Server(t))
	namespace := kit.NewNamespace(t, c)
	for _, test := range []struct {
		reason string
		typed  string // the last word is the one to complete, maybe empty
		want   []string
		not    string
	}{
		{"commands", "", []string{"audit", "check", "explain", "get", "migrate", "release", "version", "watch"}, "__complete"},
		{"commands that begin so", "wa", []string{"watch"}, "get"},
		{"types", "get namesp", []string{"namespaces"}, "pods"},
		{"objects behind their type", "get namespace/def", []string{"namespace/default"}, "namespace/kube-system"},
		{"objects of a type", "get namespace " + namespace[:len(namespace)-1], []string{namespace}, "default"},
		{"objects without get", "namespace/def", []string{"namespace/default"}, "get"},
		{"objects of migrate", "migrate namespace/def", []string{"namespace/default"}, "namespace/kube-system"},
		{"values of a flag", "get -o ", []string{"tree", "table", "wide", "json", "yaml", "name", "html"}, "namespaces"},
		{"values of another flag", "get --color=", []string{"always", "auto", "never"}, "tree"},
		{"flags", "migrate --undo", []string{"--undo", "--undo-file"}, "--yes"},
		{"a connection flag", "get pods --namespace kube-s", []string{"kube-system"}, "default"},
	} {
		t.Run(test.reason, func(t *testing.T) {
			got := completions(t, strings.Split(test.typed, " "))
			for _, want := range test.want {
				if !slices.Contains(got, want) {
					t.Errorf("%q is missing in %q", want, got)
				}
			}
			if slices.Contains(got, test.not) {
				t.Errorf("%q in %q", test.not, got)
			}
		})
	}
}

// completions are the words that kubectl offers a shell behind kubectl fieldowners,
// without what is said of them.
func completions(t *testing.T, typed []string) []string {
	t.Helper()
	stdout, stderr, code := kit.OutputOf(t, kit.KubectlCommand(t, kit.Server(t), append([]string{"__complete", "fieldowners"}, typed...)...))
	lines := strings.Split(strings.TrimSuffix(stdout, "\n"), "\n")
	words, directive := lines[:len(lines)-1], lines[len(lines)-1]
	if code != 0 || !strings.HasPrefix(directive, ":") || directive == ":1" { // 1 is an error
		t.Fatalf("exit code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
	for i, word := range words {
		words[i], _, _ = strings.Cut(word, "\t")
	}
	return words
}
