package plugin

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"coapply.dev/apply"
	"coapply.dev/test/kit"
)

// recording stands between the plugin and the API server, and remembers what was asked
// for and everything that was answered.
type recording struct {
	config *rest.Config // of the recording itself

	mu       sync.Mutex
	lists    []*http.Request
	answered bytes.Buffer
}

func recordAnswers(t *testing.T, config *rest.Config) *recording {
	t.Helper()
	target, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	r := &recording{}
	proxy := &httputil.ReverseProxy{
		Transport: transport,
		Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(target)
			p.Out.Header.Set("Accept-Encoding", "identity") // to be read here
		},
		ModifyResponse: r.note,
	}
	front := httptest.NewServer(proxy)
	t.Cleanup(front.Close)
	r.config = &rest.Config{Host: front.URL}
	return r
}

func (r *recording) note(response *http.Response) error {
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answered.Write(body)
	if response.Request.URL.Query().Has("limit") {
		r.lists = append(r.lists, response.Request)
	}
	return nil
}

// auditReport is what this test reads of a report.
type auditReport struct {
	Complete bool
	Objects  int
	Managers []struct {
		Name, Operation, Subresource string
		Objects, Fields, Shared      int
	}
	Findings []struct{ Rule, Remedy string }
}

func auditJSON(t *testing.T, config *rest.Config, args ...string) (report auditReport, stdout, stderr string, code int) {
	t.Helper()
	args = append([]string{"fieldowners", "audit", "-o", "json"}, args...)
	stdout, stderr, code = kit.OutputOf(t, kit.KubectlCommand(t, config, args...))
	if err := json.Unmarshal([]byte(stdout), &report); err != nil {
		t.Fatalf("exit code %d, stderr %q: %v", code, stderr, err)
	}
	return report, stdout, stderr, code
}

// TestAuditReadsMetadataOnly audits a namespace with a Secret, and holds that its value
// is not among the bytes that the API server sent.
func TestAuditReadsMetadataOnly(t *testing.T) {
	t.Parallel()
	c := kit.NewClient(t, kit.Server(t))
	namespace := kit.NewNamespace(t, c)
	const value = "a-value-that-stays-where-it-is"
	if err := c.Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "secret", Namespace: namespace}, StringData: map[string]string{"key": value},
	}); err != nil {
		t.Fatal(err)
	}
	r := recordAnswers(t, kit.Server(t))
	for _, args := range [][]string{{"-n", namespace}, {"secrets", "-n", namespace}, {"secrets,serviceaccounts", "-A"}} { // other tests forge ConfigMaps
		report, stdout, stderr, code := auditJSON(t, r.config, args...)
		if code > 1 || !report.Complete || report.Objects == 0 || !strings.Contains(stdout, "secrets") {
			t.Errorf("%q: exit code %d, %d objects, stderr %q", args, code, report.Objects, stderr)
		}
	}
	secrets := 0
	for _, list := range r.lists {
		for accepted := range strings.SplitSeq(list.Header.Get("Accept"), ",") {
			if !strings.HasSuffix(accepted, ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1") {
				t.Errorf("%s may be answered with %q", list.URL, accepted)
			}
		}
		if strings.HasSuffix(list.URL.Path, "/secrets") {
			secrets++
		}
	}
	if secrets != 3 {
		t.Errorf("%d lists of Secrets, want 3", secrets)
	}
	answered := r.answered.String()
	for _, text := range []string{value, base64.StdEncoding.EncodeToString([]byte(value))} {
		if strings.Contains(answered, text) {
			t.Errorf("the API server sent %s", text)
		}
	}
	if !strings.Contains(answered, namespace) {
		t.Error("the metadata of the Secret is not among what was recorded")
	}
}

// TestAuditPages audits more objects than a page has.
func TestAuditPages(t *testing.T) {
	c := kit.NewClient(t, kit.Server(t))
	namespace := kit.NewNamespace(t, c)
	const objects = 510
	for i := range objects {
		if err := c.Create(t.Context(), &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("c", i), Namespace: namespace}, Data: map[string]string{"a": "b"},
		}); err != nil {
			t.Fatal(err)
		}
	}
	r := recordAnswers(t, kit.Server(t))
	report, _, stderr, code := auditJSON(t, r.config, "configmaps", "-n", namespace)
	if code != 0 || !report.Complete || report.Objects != objects {
		t.Errorf("exit code %d, %d objects, want %d; stderr %q", code, report.Objects, objects, stderr)
	}
	if len(r.lists) != 2 || r.lists[0].URL.Query().Get("limit") != "500" || r.lists[1].URL.Query().Get("continue") == "" {
		t.Errorf("%d lists, want 2 pages of 500", len(r.lists))
	}
}

// TestAuditFindings audits what kubectl and two appliers wrote.
func TestAuditFindings(t *testing.T) {
	t.Parallel()
	c := kit.NewClient(t, kit.Server(t))
	namespace := kit.NewNamespace(t, c)
	for _, manager := range []string{"ci", "twin"} {
		applier := kit.NewApplier(t, c, manager, apply.Policy{})
		if _, err := applier.Apply(t.Context(), apply.Intent{Config: kit.Deployment("web", namespace, "v1")}); err != nil {
			t.Fatal(err)
		}
	}
	kubectl := kit.KubectlCommand(t, kit.Server(t), "annotate", "deployment", "web", "-n", namespace, "a=b", "--field-manager", "ci")
	if _, stderr, code := kit.OutputOf(t, kubectl); code != 0 {
		t.Fatal(stderr)
	}
	report, _, stderr, code := auditJSON(t, kit.Server(t), "deploy", "-n", namespace)
	if code != 1 || stderr != "" || report.Objects != 1 || len(report.Managers) != 3 {
		t.Fatalf("exit code %d, stderr %q, %+v", code, stderr, report)
	}
	if ci := report.Managers[0]; ci.Name != "ci" || ci.Shared == 0 || ci.Shared != ci.Fields {
		t.Errorf("%+v shares not all of its fields", ci)
	}
	if len(report.Findings) != 1 || report.Findings[0].Rule != "update-and-apply" {
		t.Errorf("findings %+v", report.Findings)
	}
}

// TestAuditForbidden audits as a user who may read one kind of two.
func TestAuditForbidden(t *testing.T) {
	t.Parallel()
	c := kit.NewClient(t, kit.Server(t))
	namespace := kit.NewNamespace(t, c)
	meta := metav1.ObjectMeta{Name: "reader", Namespace: namespace}
	if err := c.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"a": "b"}}); err != nil {
		t.Fatal(err)
	}
	if err := c.Create(t.Context(), &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"list"}},
	}}); err != nil {
		t.Fatal(err)
	}
	if err := c.Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "Role", Name: "reader"},
		Subjects: []rbacv1.Subject{{APIGroup: "rbac.authorization.k8s.io", Kind: "User", Name: "eve"}},
	}); err != nil {
		t.Fatal(err)
	}
	report, _, stderr, code := auditJSON(t, kit.Server(t), "secrets,configmaps", "-n", namespace, "--as", "eve")
	if code != 2 || report.Complete || report.Objects != 1 {
		t.Errorf("exit code %d, complete %v, %d objects", code, report.Complete, report.Objects)
	}
	if !strings.HasPrefix(stderr, `error: secrets: secrets is forbidden: User "eve" cannot list resource "secrets"`) || strings.Count(stderr, "\n") != 2 {
		t.Errorf("stderr %q", stderr)
	}
	report, _, stderr, code = auditJSON(t, kit.Server(t), "-n", namespace, "--as", "eve")
	if code != 2 || report.Objects != 1 || !strings.Contains(stderr, ", secrets, ") || strings.Contains(stderr, "configmaps") || strings.Count(stderr, "\n") != 2 {
		t.Errorf("all kinds: exit code %d, %d objects, stderr %q", code, report.Objects, stderr)
	}
}
