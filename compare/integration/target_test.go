package compare

import (
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/compare"
	"coapply.dev/compare/target"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/test/kit"
)

// kubeconfigOf writes a kubeconfig as a user of a cluster has it.
func kubeconfigOf(t testing.TB, config *rest.Config) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	err := clientcmd.WriteToFile(api.Config{
		Clusters: map[string]*api.Cluster{"c": {Server: config.Host, CertificateAuthorityData: config.CAData}},
		AuthInfos: map[string]*api.AuthInfo{"u": {
			ClientCertificateData: config.CertData, ClientKeyData: config.KeyData,
		}},
		Contexts: map[string]*api.Context{"theirs": {Cluster: "c", AuthInfo: "u"}}, CurrentContext: "theirs",
	}, file)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// connect opens the shared API server as if it were a user's cluster.
func connect(t *testing.T) *target.Target {
	t.Helper()
	on, err := target.Connect(t.Context(), target.Options{Kubeconfig: kubeconfigOf(t, kit.Server(t)), Log: t.Output()},
		func(string) (bool, error) { return true, nil })
	if err != nil {
		t.Fatal(err)
	}
	return on
}

// As it is on a cluster of the user's: only what is needed, an ordinary user, and nothing left.
func TestCompareTargetOnAForeignCluster(t *testing.T) {
	admin := kit.NewClient(t, kit.Server(t))
	foreign := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: kit.NewNamespace(t, admin), Name: "theirs"}}
	if err := admin.Create(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	on := connect(t)
	wantOrdinaryUser(t, on)
	wantOwnNamespaceOnly(t, on, foreign)

	if err := on.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantNothingOf(t, admin, on.Namespace())
	if err := on.Close(t.Context()); err != nil {
		t.Errorf("closing it again: %v", err)
	}
	version := foreign.ResourceVersion
	if err := admin.Get(t.Context(), client.ObjectKeyFromObject(foreign), foreign); err != nil || foreign.ResourceVersion != version {
		t.Errorf("the foreign object is at %s: %v; want it untouched at %s", foreign.ResourceVersion, err, version)
	}
	var namespace corev1.Namespace
	err := admin.Get(t.Context(), client.ObjectKey{Name: foreign.Namespace}, &namespace)
	if err != nil || namespace.DeletionTimestamp != nil {
		t.Errorf("the foreign namespace: %v, deleted %v; want it untouched", err, namespace.DeletionTimestamp)
	}
}

func wantOrdinaryUser(t *testing.T, on *target.Target) {
	t.Helper()
	e := on.Environment()
	if e.User != "system:serviceaccount:"+on.Namespace()+":writer" || slices.Contains(e.Groups, "system:masters") {
		t.Errorf("user %q in %q; want the service account, no administrator", e.User, e.Groups)
	}
	if user := on.User(); user.QPS != -1 || user.CertData != nil || on.Admin().QPS != -1 {
		t.Errorf("QPS %v, certificate %d bytes; want -1 and none of the administrator's", user.QPS, len(user.CertData))
	}
	if e.LocalCluster || e.EtcdFsync != "" || e.FsyncP50 != nil || e.Etcd != "" || e.FileSystem != "" {
		t.Errorf("the environment tells of an etcd that it cannot know: %+v", e)
	}
	if !strings.HasPrefix(e.Server, "v1.") {
		t.Errorf("server %q; want it known", e.Server)
	}
}

func wantOwnNamespaceOnly(t *testing.T, on *target.Target, foreign *corev1.ConfigMap) {
	t.Helper()
	user := kit.NewClient(t, on.User())
	own := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: on.Namespace(), Name: "ours"}}
	if err := user.Create(t.Context(), own); err != nil {
		t.Errorf("in its own namespace: %v", err)
	}
	other := foreign.DeepCopy()
	other.Data = map[string]string{"a": "b"}
	if err := user.Update(t.Context(), other); !apierrors.IsForbidden(err) {
		t.Errorf("in another's namespace: %v; want it forbidden", err)
	}
	for _, object := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: on.Namespace() + "-more"}},
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: on.Namespace()}},
	} {
		if err := user.Create(t.Context(), object); !apierrors.IsForbidden(err) {
			t.Errorf("creating %T: %v; want it forbidden", object, err)
		}
	}
}

// wantScrape makes three updates and finds them counted.
func wantScrape(t *testing.T, on *target.Target) {
	t.Helper()
	user := kit.NewClient(t, on.User())
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: on.Namespace(), Name: "counted"}}
	if err := user.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	before := on.Scrape(t.Context())
	for _, value := range []string{"a", "b", "c"} {
		object.Data = map[string]string{"key": value}
		if err := user.Update(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	kind := compare.Kind{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, Resource: "configmaps"}
	got := before.Until(on.Scrape(t.Context()), kind)
	if got.Updates == nil || *got.Updates < 3 || got.APIServerCPU == nil || got.EtcdCPU == nil {
		t.Errorf("%v updates of configmaps, CPU of the API server %v, of etcd %v; want at least 3, and both known", got.Updates, got.APIServerCPU, got.EtcdCPU)
	}
}

// wantNothingOf allows a namespace that is going: no controller empties it on this server.
func wantNothingOf(t *testing.T, admin client.Client, namespace string) {
	t.Helper()
	ours := client.MatchingLabels{"app.kubernetes.io/managed-by": "coapply-compare"}
	for _, list := range []client.ObjectList{
		&corev1.ServiceAccountList{}, &rbacv1.RoleList{}, &rbacv1.RoleBindingList{},
		&rbacv1.ClusterRoleList{}, &rbacv1.ClusterRoleBindingList{}, &corev1.NamespaceList{},
	} {
		if err := admin.List(t.Context(), list, ours); err != nil {
			t.Fatal(err)
		}
		items, err := meta.ExtractList(list)
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range items {
			object := item.(client.Object)
			about := object.GetName() == namespace || object.GetNamespace() == namespace
			if about && object.GetDeletionTimestamp() == nil {
				t.Errorf("%T %s is left", object, object.GetName())
			}
		}
	}
}

func TestCompareTargetOnTheLocalControlPlane(t *testing.T) {
	on, err := target.On(t.Context(), kit.Cluster(t), t.Output())
	if err != nil {
		t.Fatal(err)
	}
	e := on.Environment()
	if !on.IsLocal() || !e.LocalCluster || e.Etcd == "" || e.FsyncP50 == nil || e.FsyncP99 == nil {
		t.Errorf("local %v, etcd %q, fsync %v and %v; want all known", on.IsLocal(), e.Etcd, e.FsyncP50, e.FsyncP99)
	}
	if runtime.GOOS == "linux" && (e.EtcdFsync != "on" || e.FileSystem == "") {
		t.Errorf("fsync %q on %q; want it on", e.EtcdFsync, e.FileSystem)
	}
	user := kit.NewClient(t, on.User())
	for _, object := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: on.Namespace() + "-user"}},
		&v1alpha1.Devbox{ObjectMeta: metav1.ObjectMeta{Namespace: on.Namespace(), Name: "box"}},
	} {
		if err := user.Create(t.Context(), object, client.DryRunAll); apierrors.IsForbidden(err) {
			t.Errorf("creating %T: %v; want it allowed", object, err)
		}
	}
	wantScrape(t, on)
	if err := on.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantNothingOf(t, kit.NewClient(t, kit.Cluster(t).Config()), on.Namespace())
}
