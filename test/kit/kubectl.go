package kit

import (
	"bytes"
	"context"
	"errors"
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

// discoveryCache is where the kubectls of a process cache the kinds and schemas of the API servers, as those of a user do.
var discoveryCache = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "kubectl-cache-")
	OnStop(func(context.Context) error { return os.RemoveAll(dir) })
	return dir, err
})

// KubectlCommand returns a command that runs kubectl on the API server of a configuration, with its own home folder and
// with the plugin in its PATH. If the first argument is fieldowners, the command runs the plugin directly, to save the
// start of kubectl.
func KubectlCommand(t testing.TB, config *rest.Config, args ...string) *exec.Cmd {
	t.Helper()
	dir, err := BuiltCommands()
	if err != nil {
		t.Fatal(err)
	}
	binaries, err := localcluster.Ensure(t.Context(), StartLog())
	if err != nil {
		t.Fatal(err)
	}
	cache, err := discoveryCache()
	if err != nil {
		t.Fatal(err)
	}
	program := binaries.Kubectl
	if len(args) > 0 && args[0] == "fieldowners" {
		program, args = filepath.Join(dir, "kubectl-fieldowners"), args[1:]
	}
	command := exec.CommandContext(t.Context(), program, args...)
	command.Env = append(os.Environ(),
		"PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"),
		"KUBECONFIG="+Kubeconfig(t, config),
		"HOME="+t.TempDir(),
		"KUBECACHEDIR="+cache,
	)
	return command
}

// OutputOf runs a command that may end with any exit code.
func OutputOf(t testing.TB, command *exec.Cmd) (stdout, stderr string, code int) {
	t.Helper()
	var out, errOut bytes.Buffer
	command.Stdout, command.Stderr = &out, &errOut
	err := command.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatalf("%v: %v", command.Args, err)
	}
	return out.String(), errOut.String(), command.ProcessState.ExitCode()
}

// Kubeconfig writes a kubeconfig file for a configuration, and returns its path.
func Kubeconfig(t testing.TB, config *rest.Config) string {
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
