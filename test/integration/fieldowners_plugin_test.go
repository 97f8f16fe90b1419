package integration

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"coapply.dev/internal/localcluster"
)

// builtPlugin is a folder as make build fills it: the plugin's executable, built once
// for all tests, and what kubectl asks for completions.
var builtPlugin = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "coapply-plugin-")
	if err != nil {
		return "", err
	}
	onStop(func(context.Context) error { return os.RemoveAll(dir) })
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "kubectl-fieldowners"), "coapply.dev/cmd/kubectl-fieldowners")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the plugin: %w\n%s", err, out)
	}
	script, err := os.ReadFile("../../cmd/kubectl-fieldowners/kubectl_complete-fieldowners")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "kubectl_complete-fieldowners"), script, 0o755)
	}
	return dir, err
})

// kubectlCommand prepares the real kubectl, which finds the plugin by its PATH, for
// the API server of a configuration. It has a home of its own.
func kubectlCommand(t testing.TB, config *rest.Config, args ...string) *exec.Cmd {
	t.Helper()
	dir, err := builtPlugin()
	if err != nil {
		t.Fatal(err)
	}
	binaries, err := localcluster.Ensure(t.Context(), startLog())
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), binaries.Kubectl, args...)
	command.Env = append(os.Environ(),
		"PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"),
		"KUBECONFIG="+kubeconfig(t, config),
		"HOME="+t.TempDir(),
	)
	return command
}

// plugin runs kubectl fieldowners against server(t), to its end.
func plugin(t testing.TB, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	command := kubectlCommand(t, server(t), append([]string{"fieldowners"}, args...)...)
	return outputOf(t, command)
}

// outputOf runs a command that may end with any exit code.
func outputOf(t testing.TB, command *exec.Cmd) (stdout, stderr string, code int) {
	t.Helper()
	var out, errOut bytes.Buffer
	command.Stdout, command.Stderr = &out, &errOut
	err := command.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatalf("%v: %v", command.Args, err)
	}
	return out.String(), errOut.String(), command.ProcessState.ExitCode()
}

// kubeconfig gives a file that says what a configuration does.
func kubeconfig(t testing.TB, config *rest.Config) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{"test": {
			Server: config.Host, CertificateAuthorityData: config.CAData, CertificateAuthority: config.CAFile,
		}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{"test": {
			ClientCertificateData: config.CertData, ClientKeyData: config.KeyData, Token: config.BearerToken,
			ClientCertificate: config.CertFile, ClientKey: config.KeyFile,
		}},
		Contexts:       map[string]*clientcmdapi.Context{"test": {Cluster: "test", AuthInfo: "test"}},
		CurrentContext: "test",
	}, file); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestPluginIsFoundByKubectl(t *testing.T) {
	stdout, stderr, code := plugin(t, "get", "namespace/default", "-o", "name")
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
	c := newClient(t, server(t))
	namespace := newNamespace(t, c)
	for _, test := range []struct {
		reason string
		typed  string // the last word is the one to complete, maybe empty
		want   []string
		not    string
	}{
		{"commands", "", []string{"audit", "check", "diff", "explain", "get", "migrate", "release", "version", "watch"}, "__complete"},
		{"commands that begin so", "wa", []string{"watch"}, "get"},
		{"types", "get namesp", []string{"namespaces"}, "pods"},
		{"objects behind their type", "get namespace/def", []string{"namespace/default"}, "namespace/kube-system"},
		{"objects of a type", "get namespace " + namespace[:len(namespace)-1], []string{namespace}, "default"},
		{"objects without get", "namespace/def", []string{"namespace/default"}, "get"},
		{"objects of migrate", "migrate namespace/def", []string{"namespace/default"}, "namespace/kube-system"},
		{"values of a flag", "get -o ", []string{"tree", "table", "wide", "json", "yaml", "name", "html"}, "namespaces"},
		{"values of another flag", "get --color=", []string{"always", "auto", "never"}, "tree"},
		{"flags", "release --undo", []string{"--undo", "--undo-file"}, "--yes"},
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
	stdout, stderr, code := outputOf(t, kubectlCommand(t, server(t), append([]string{"__complete", "fieldowners"}, typed...)...))
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
