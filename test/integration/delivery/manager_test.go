package delivery

import (
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
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

	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/test/kit"
)

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

// alone has a manager run no reconciler of a kind that other tests have objects of: they share the cluster.
const alone = "--controllers=license"

// TestManagerReplicas: both become ready, one leads, and the other takes over when
// the first is asked to stop, which gives the lease back.
func TestManagerReplicas(t *testing.T) {
	t.Parallel()
	c := kit.NewClient(t, kit.Cluster(t).Config())
	namespace := kit.NewNamespace(t, c)
	start := func() (*kit.Process, string) {
		probes := kit.FreeAddress(t)
		p := kit.StartManager(t, kit.Cluster(t).Kubeconfig(), alone, "--leader-elect-namespace", namespace,
			"--health-probe-bind-address", probes, "--metrics-bind-address=0")
		kit.WaitFor(t, "ready", func() string { return kit.Ready(probes) })
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
	kit.WaitFor(t, "a leader", func() string {
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
	first.Stop(t)
	kit.WaitFor(t, "the second leads", func() string {
		if now := holder(); now == "" || now == leader {
			return "leader is " + now
		}
		return ""
	})
	second.Stop(t)
}

// TestManagerMetrics: served over HTTPS to whoever may read them, and to no other. No log
// level shows the token that they come with.
func TestManagerMetrics(t *testing.T) {
	t.Parallel()
	c := kit.NewClient(t, kit.Cluster(t).Config())
	namespace := kit.NewNamespace(t, c)
	metrics, probes := kit.FreeAddress(t), kit.FreeAddress(t)
	p := kit.StartManager(t, kit.Cluster(t).Kubeconfig(), "--leader-elect=false", alone, "--log-level=debug",
		"--metrics-bind-address", metrics, "--health-probe-bind-address", probes)
	kit.WaitFor(t, "ready", func() string { return kit.Ready(probes) })
	kit.WaitFor(t, "serves metrics", func() string { return listening(metrics) }) // not part of readiness

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
	p.Stop(t)
	log := p.Stderr.String()
	if strings.Contains(log, "Authentication failed") {
		t.Error("what somebody sent in place of a token is logged as an error of ours")
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
	noCRDs := withoutCRDs(t, kit.Server(t))
	nobody := rest.CopyConfig(kit.Server(t))
	nobody.Host = "https://" + kit.FreeAddress(t)
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
		code, last := kit.StartManager(t, test.kubeconfig, test.args...).Wait(t)
		if code != test.code || !strings.HasPrefix(last, "manager: ") || !strings.Contains(last, test.want) {
			t.Errorf("%s: exit code %d, last line %q; want %d and %q", test.reason, code, last, test.code, test.want)
		}
	}
}

// withoutCRDs returns a kubeconfig of the API server as it is before our CRDs are installed.
func withoutCRDs(t *testing.T, config *rest.Config) (kubeconfig string) {
	t.Helper()
	address, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(address)
	if proxy.Transport, err = rest.TransportFor(config); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/apis/"+v1alpha1.SchemeGroupVersion.Group) {
			http.NotFound(w, r)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	written := clientcmdapi.NewConfig()
	written.Clusters["c"] = &clientcmdapi.Cluster{Server: server.URL}
	written.Contexts["x"] = &clientcmdapi.Context{Cluster: "c"}
	written.CurrentContext = "x"
	if err := clientcmd.WriteToFile(*written, kubeconfig); err != nil {
		t.Fatal(err)
	}
	return kubeconfig
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
