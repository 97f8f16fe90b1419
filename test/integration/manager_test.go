package integration

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// managerBinary is cmd/manager, built once.
var managerBinary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "coapply-manager-")
	if err != nil {
		return "", err
	}
	onStop(func(context.Context) error { return os.RemoveAll(dir) })
	path := filepath.Join(dir, "manager")
	out, err := exec.Command("go", "build", "-o", path, "coapply.dev/cmd/manager").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("building the manager: %w\n%s", err, out)
	}
	return path, nil
})

// process is a manager that runs beside the test.
type process struct {
	cmd    *exec.Cmd
	stderr bytes.Buffer
	exited chan struct{}
}

func startManager(t *testing.T, kubeconfig string, args ...string) *process {
	t.Helper()
	binary, err := managerBinary()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{exited: make(chan struct{})}
	p.cmd = exec.Command(binary, append([]string{"--kubeconfig", kubeconfig}, args...)...)
	p.cmd.Stderr = &p.stderr
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.exited)
		_ = p.cmd.Wait() // the exit code is looked at
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.exited
		if t.Failed() {
			t.Logf("log of manager %d:\n%s", p.cmd.Process.Pid, p.stderr.String())
		}
	})
	return p
}

// wait gives the exit code and the last line of a manager that ends by itself.
func (p *process) wait(t *testing.T) (code int, lastLine string) {
	t.Helper()
	waitFor(t, "the manager ends", func() string {
		select {
		case <-p.exited:
			return ""
		default:
			return "it runs"
		}
	})
	lines := strings.Split(strings.TrimSuffix(p.stderr.String(), "\n"), "\n")
	return p.cmd.ProcessState.ExitCode(), lines[len(lines)-1]
}

func (p *process) stop(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code, last := p.wait(t); code != 0 {
		t.Errorf("after SIGTERM: exit code %d, %s", code, last)
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

func ready(address string) string {
	response, err := http.Get("http://" + address + "/readyz")
	if err != nil {
		return err.Error()
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return response.Status
	}
	return ""
}

func listening(address string) string {
	connection, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		return err.Error()
	}
	if err := connection.Close(); err != nil {
		return err.Error()
	}
	return ""
}

// TestManagerReplicas: both become ready, one leads, and the other takes over when
// the first is asked to stop, which gives the lease back.
func TestManagerReplicas(t *testing.T) {
	t.Parallel()
	c := newClient(t, cluster(t).Config())
	namespace := newNamespace(t, c)
	start := func() (*process, string) {
		probes := freeAddress(t)
		p := startManager(t, cluster(t).Kubeconfig(), "--controllers=devbox-network", "--leader-elect-namespace", namespace,
			"--health-probe-bind-address", probes, "--metrics-bind-address=0")
		waitFor(t, "ready", func() string { return ready(probes) })
		return p, probes
	}
	holder := func() string {
		var lease coordinationv1.Lease
		key := client.ObjectKey{Namespace: namespace, Name: "coapply-manager.coapply.dev"}
		if err := c.Get(t.Context(), key, &lease); err != nil || lease.Spec.HolderIdentity == nil {
			return ""
		}
		return *lease.Spec.HolderIdentity
	}
	first, _ := start()
	waitFor(t, "a leader", func() string {
		if holder() == "" {
			return "none"
		}
		return ""
	})
	leader := holder()
	second, _ := start() // ready without leading
	if holder() != leader {
		t.Errorf("the leader changed from %s to %s", leader, holder())
	}
	first.stop(t)
	waitFor(t, "the second leads", func() string {
		if now := holder(); now == "" || now == leader {
			return "leader is " + now
		}
		return ""
	})
	second.stop(t)
}

// TestManagerMetrics: served over HTTPS to whoever may read them, and to no other. No log
// level shows the token that they come with.
func TestManagerMetrics(t *testing.T) {
	t.Parallel()
	c := newClient(t, cluster(t).Config())
	namespace := newNamespace(t, c)
	metrics, probes := freeAddress(t), freeAddress(t)
	p := startManager(t, cluster(t).Kubeconfig(), "--leader-elect=false", "--controllers=devbox-network", "--log-level=10",
		"--metrics-bind-address", metrics, "--health-probe-bind-address", probes)
	waitFor(t, "ready", func() string { return ready(probes) })
	waitFor(t, "serves metrics", func() string { return listening(metrics) }) // not part of readiness

	reader := client.ObjectKey{Namespace: namespace, Name: "reader"}
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: namespace + "-metrics"},
		Rules:      []rbacv1.PolicyRule{{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}},
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace, Name: reader.Name}},
	}
	stranger := client.ObjectKey{Namespace: namespace, Name: "stranger"}
	for _, object := range []client.Object{
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: reader.Name}},
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: stranger.Name}},
		role, binding,
	} {
		if err := c.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	strangers, readers := token(t, c, stranger), token(t, c, reader)
	for _, test := range []struct {
		who    string
		scheme string
		token  string
		want   int
	}{
		{"nobody", "https", "", http.StatusUnauthorized},
		{"an empty token", "https", " ", http.StatusUnauthorized},
		{"a token that nobody issued", "https", "nonsense", http.StatusUnauthorized},
		{"a token that is cut", "https", readers[:len(readers)-8], http.StatusUnauthorized},
		{"a token with a tab", "https", "non\tsense", http.StatusUnauthorized},
		{"a token that is not UTF-8", "https", "\xff\xfe", http.StatusUnauthorized},
		{"a token of a megabyte", "https", strings.Repeat("x", 1_000_000), http.StatusUnauthorized},
		{"someone without the right", "https", strangers, http.StatusForbidden},
		{"someone with the right", "https", readers, http.StatusOK},
		{"someone with the right, in plain text", "http", readers, http.StatusBadRequest},
	} {
		if got := getMetrics(t, test.scheme+"://"+metrics, test.token); got != test.want {
			t.Errorf("%s gets %d, want %d", test.who, got, test.want)
		}
	}
	p.stop(t)
	log := p.stderr.String()
	if strings.Contains(log, "Authentication failed") {
		t.Error("what somebody sent in place of a token is logged as an error of ours")
	}
	if !strings.Contains(log, "/tokenreviews") {
		t.Error("no TokenReview is in the log, not to mention its body")
	}
	for _, secret := range []string{strangers, readers} {
		if strings.Contains(log, secret) {
			t.Error("a bearer token is in the log")
		}
	}
}

func token(t *testing.T, c client.Client, account client.ObjectKey) string {
	t.Helper()
	request := &authenticationv1.TokenRequest{}
	object := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: account.Namespace, Name: account.Name}}
	if err := c.SubResource("token").Create(t.Context(), object, request); err != nil {
		t.Fatal(err)
	}
	return request.Status.Token
}

func getMetrics(t *testing.T, server, token string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server+"/metrics", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} // self-signed, on loopback
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	return response.StatusCode
}

func TestManagerRefusesToStart(t *testing.T) {
	noCRDs := writeKubeconfig(t, server(t))
	nobody := rest.CopyConfig(server(t))
	nobody.Host = "https://" + freeAddress(t)
	off := []string{"--metrics-bind-address=0", "--health-probe-bind-address=0", "--leader-elect=false"}
	for _, test := range []struct {
		reason, kubeconfig string
		args               []string
		code               int
		want               string
	}{
		{"missing CRDs", noCRDs, off, 1, "kubectl apply -k config/crd"},
		{"unreachable API server", writeKubeconfig(t, nobody), off, 1, nobody.Host},
		{"unknown reconciler", noCRDs, append([]string{"--controllers=nope"}, off...), 2, `"nope"`},
		{"no such kubeconfig", filepath.Join(t.TempDir(), "none"), off, 1, "none"},
	} {
		code, last := startManager(t, test.kubeconfig, test.args...).wait(t)
		if code != test.code || !strings.HasPrefix(last, "manager: ") || !strings.Contains(last, test.want) {
			t.Errorf("%s: exit code %d, last line %q; want %d and %q", test.reason, code, last, test.code, test.want)
		}
	}
}

func writeKubeconfig(t *testing.T, config *rest.Config) string {
	t.Helper()
	if len(config.CertData) == 0 {
		t.Fatal(errors.New("the administrator has no client certificate"))
	}
	kubeconfig := clientcmdapi.NewConfig()
	kubeconfig.Clusters["c"] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	kubeconfig.AuthInfos["u"] = &clientcmdapi.AuthInfo{ClientCertificateData: config.CertData, ClientKeyData: config.KeyData}
	kubeconfig.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	kubeconfig.CurrentContext = "x"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*kubeconfig, path); err != nil {
		t.Fatal(err)
	}
	return path
}
