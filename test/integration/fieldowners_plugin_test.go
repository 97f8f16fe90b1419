package integration

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"coapply.dev/internal/localcluster"
)

// builtPlugin is the folder of the plugin's executable, built once for all tests.
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
	return dir, nil
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
			Server: config.Host, CertificateAuthorityData: config.CAData,
		}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{"test": {
			ClientCertificateData: config.CertData, ClientKeyData: config.KeyData, Token: config.BearerToken,
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
