package delivery

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/test/kit"
)

// session is where the manager's token is, in a file as a kubelet has it.
type session struct {
	t      *testing.T
	client client.Client // the administrator's
	config *rest.Config
	file   string
	box    *v1alpha1.Devbox // what the manager has to do
}

const ourNamespace, ourAccount = "coapply-system", "coapply-manager"

// renew replaces the token in the file. The one before holds on until it is ended. A token lives ten minutes at least, so each is
// bound to a Secret: when that is deleted, the API server takes the token for expired.
func (s *session) renew() (end func()) {
	s.t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{GenerateName: "session-", Namespace: ourNamespace}}
	s.must(s.client.Create(s.t.Context(), secret))
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		BoundObjectRef: &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Secret", Name: secret.Name, UID: secret.UID}}}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: ourAccount, Namespace: ourNamespace}}
	s.must(s.client.SubResource("token").Create(s.t.Context(), account, request))
	s.must(os.WriteFile(s.file+".next", []byte(request.Status.Token), 0o600))
	s.must(os.Rename(s.file+".next", s.file))
	return func() {
		s.t.Helper()
		s.must(s.client.Delete(s.t.Context(), secret))
		old := rest.AnonymousClientConfig(s.config)
		old.BearerToken = request.Status.Token
		c := kit.NewClient(s.t, old)
		kit.WaitFor(s.t, "the token is refused", func() string { // the API server remembers it for 10 s
			err := c.Create(s.t.Context(), &authenticationv1.SelfSubjectReview{})
			if !apierrors.IsUnauthorized(err) {
				return fmt.Sprint(err)
			}
			return ""
		})
	}
}

func (s *session) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// kubeconfig is one of a manager outside a cluster. In a pod client-go reads the token from a file in the same way.
func (s *session) kubeconfig() string {
	s.t.Helper()
	file := filepath.Join(s.t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"c": {Server: s.config.Host, CertificateAuthorityData: s.config.CAData, CertificateAuthority: s.config.CAFile}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"c": {TokenFile: s.file}},
		Contexts:       map[string]*clientcmdapi.Context{"c": {Cluster: "c", AuthInfo: "c"}},
		CurrentContext: "c",
	}, file); err != nil {
		s.t.Fatal(err)
	}
	return file
}

// applied waits until the Deployment has the image of the Devbox.
func (s *session) applied() {
	s.t.Helper()
	kit.WaitFor(s.t, "the image "+s.box.Spec.Image, func() string {
		var live appsv1.Deployment
		if err := s.client.Get(s.t.Context(), client.ObjectKeyFromObject(s.box), &live); err != nil {
			return err.Error()
		}
		if has := live.Spec.Template.Spec.Containers[0].Image; has != s.box.Spec.Image {
			return "it is " + has
		}
		return ""
	})
}

// change has the manager change something.
func (s *session) change(image string) {
	s.t.Helper()
	s.must(s.client.Patch(s.t.Context(), s.box, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"image":"`+image+`"}}`))))
	s.applied()
}

// TestToken: the manager outlives its token where the file has another one, which client-go reads every minute. What is refused
// meanwhile is done then; one that leads needs the old token to hold for that minute, as a kubelet's does. Without a token that the
// API server accepts one that leads ends, another start ends at once, and both say why.
func TestToken(t *testing.T) {
	kit.ForSoak(t) // client-go reads the token once a minute
	t.Parallel()
	i := newInstallation(t, "token")
	s := &session{t: t, client: i.client, config: i.cluster.Config(), file: filepath.Join(t.TempDir(), "token")}
	s.box = &v1alpha1.Devbox{ObjectMeta: metav1.ObjectMeta{Name: "box", Namespace: "default"}}
	s.box.Spec.Image = "registry.example.com/dev:1"
	s.must(s.client.Create(t.Context(), s.box))
	end := s.renew()
	start := func(args ...string) *kit.Process {
		return kit.StartManager(t, s.kubeconfig(), append(args, "--metrics-bind-address=0", "--health-probe-bind-address=0")...)
	}

	manager := start("--leader-elect=false")
	s.applied()
	endBefore := end
	end = s.renew()
	endBefore()
	s.change("registry.example.com/dev:2")
	manager.Stop(t)
	if !strings.Contains(manager.Stderr.String(), "Unauthorized") {
		t.Error("the log does not say that the token was refused")
	}

	leads := []string{"--leader-elect-namespace", ourNamespace}
	manager = start(leads...)
	s.change("registry.example.com/dev:3")
	endBefore = end
	end = s.renew()
	kit.Absence(t, 70*time.Second, "the old token: a minute after it was replaced nobody uses it")
	endBefore()
	s.change("registry.example.com/dev:4")

	end()
	ends := func(p *kit.Process, because string) {
		t.Helper()
		code, last := p.Wait(t)
		if code != 1 || !strings.Contains(last, because) || !strings.Contains(last, "does not accept the credentials") {
			t.Errorf("it ended with %d: %s", code, last)
		}
	}
	ends(manager, "leader election lost: the API server")
	ends(start(leads...), "manager: the API server")
}
