// Package kstatus tests what kstatus, by which Helm and Flux wait, makes of our kinds.
package kstatus

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"coapply.dev"
	"coapply.dev/apply"
	"coapply.dev/internal/localcluster"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers"
	"coapply.dev/platform/controllers/setup"
)

const space = "kstatus"

// TestKstatus: an object is Current when it is what its spec wants, and at no time before.
func TestKstatus(t *testing.T) {
	if testing.Short() {
		t.Skip("a control plane of its own: make soak runs it, and so does go test without -short")
	}
	ctrl.SetLogger(logr.Discard())
	cluster, c := start(t)
	for _, object := range append(current(), waiting()...) {
		if err := c.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
		if got := statusOf(t, c, object); got.Status != status.InProgressStatus {
			t.Errorf("%T that nobody has looked at is %s: %s", object, got.Status, got.Message)
		}
	}
	runReconcilers(t, cluster)
	for _, object := range current() {
		waitFor(t, c, object, status.CurrentStatus, "")
	}
	short, orphan := waiting()[0], waiting()[1]
	waitFor(t, c, short, status.InProgressStatus, "exceeded quota")
	waitFor(t, c, orphan, status.InProgressStatus, "waiting for the User")

	failed := &v1alpha1.NodeMaintenance{ObjectMeta: metav1.ObjectMeta{Name: "fails"},
		Spec: v1alpha1.NodeMaintenanceSpec{Action: v1alpha1.Uncordon, Nodes: []string{"absent"}}}
	if err := c.Create(t.Context(), failed); err != nil {
		t.Fatal(err)
	}
	waitFor(t, c, failed, status.FailedStatus, "the first is absent: not found")

	if err := c.Delete(t.Context(), quota()); err != nil {
		t.Fatal(err)
	}
	if err := c.Create(t.Context(), &v1alpha1.User{ObjectMeta: metav1.ObjectMeta{Name: orphan.GetName()}}); err != nil {
		t.Fatal(err)
	}
	waitFor(t, c, short, status.CurrentStatus, "")
	waitFor(t, c, orphan, status.CurrentStatus, "")

	box := current()[0]
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"image":"registry.example.com/dev:2"}}`))
	if err := c.Patch(t.Context(), box, patch); err != nil {
		t.Fatal(err)
	}
	waitFor(t, c, box, status.CurrentStatus, "")
	var pods corev1.PodList
	if err := c.List(t.Context(), &pods, client.InNamespace(space), client.MatchingLabels{"platform.coapply.dev/devbox": box.GetName()}); err != nil {
		t.Fatal(err)
	}
	if len(pods.Items) != 1 || pods.Items[0].Spec.Containers[0].Image != "registry.example.com/dev:2" {
		t.Errorf("it was Current with %d pods, not with one of its new image", len(pods.Items))
	}
}

// current are objects that come to what they want.
func current() []client.Object {
	inside := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: space, Name: name} }
	ada := metav1.ObjectMeta{Name: "ada"}
	return []client.Object{
		&v1alpha1.Devbox{ObjectMeta: inside("runs"), Spec: v1alpha1.DevboxSpec{Image: "registry.example.com/dev:1"}},
		&v1alpha1.Devbox{ObjectMeta: inside("rests"), Spec: v1alpha1.DevboxSpec{Image: "registry.example.com/dev:1", State: v1alpha1.DevboxStopped}},
		&v1alpha1.SlurmController{ObjectMeta: inside("ctld"), Spec: v1alpha1.SlurmControllerSpec{Image: "registry.example.com/slurmctld:1"}},
		&v1alpha1.NodeSet{ObjectMeta: inside("nodes"), Spec: v1alpha1.NodeSetSpec{Image: "registry.example.com/slurmd:1", Replicas: new(int32(1))}},
		&v1alpha1.User{ObjectMeta: ada},
		&v1alpha1.License{ObjectMeta: ada, Spec: v1alpha1.LicenseSpec{Limits: pods("3")}},
		&v1alpha1.NodeMaintenance{ObjectMeta: ada, Spec: v1alpha1.NodeMaintenanceSpec{Action: v1alpha1.Uncordon,
			NodeSelector: &v1alpha1.NodeSelector{MatchLabels: map[string]v1alpha1.LabelValue{"kstatus": "no-node-has-it"}}}},
	}
}

// waiting are a Devbox in a namespace that takes no pod, and a License without a User.
func waiting() []client.Object {
	return []client.Object{
		&v1alpha1.Devbox{ObjectMeta: metav1.ObjectMeta{Namespace: quota().Namespace, Name: "short"}, Spec: v1alpha1.DevboxSpec{Image: "registry.example.com/dev:1"}},
		&v1alpha1.License{ObjectMeta: metav1.ObjectMeta{Name: "eve"}, Spec: v1alpha1.LicenseSpec{Limits: pods("3")}},
	}
}

func quota() *corev1.ResourceQuota {
	return &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: space + "-full", Name: "none"}, Spec: corev1.ResourceQuotaSpec{Hard: pods("0")}}
}

func pods(n string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourcePods: resource.MustParse(n)}
}

func scheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// start returns a control plane with our CRDs and the namespaces of the test.
func start(t *testing.T) (*localcluster.Cluster, client.Client) {
	t.Helper()
	cluster, err := localcluster.Start(t.Context(), localcluster.Options{Name: space, Nodes: 2, Log: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	crds, err := filepath.Glob(filepath.Join("..", "..", "..", "config", "crd", "platform.coapply.dev_*.yaml"))
	if err != nil || len(crds) == 0 {
		t.Fatal("no CRDs in config/crd", err)
	}
	if _, err := envtest.InstallCRDs(cluster.Config(), envtest.CRDInstallOptions{Paths: crds}); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(cluster.Config(), client.Options{Scheme: scheme(t)})
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: space}},
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: quota().Namespace}}, quota(),
	} {
		if err := c.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	return cluster, c
}

func runReconcilers(t *testing.T, cluster *localcluster.Cluster) {
	t.Helper()
	config := cluster.Config()
	config.Wrap(apply.RecordExchange)
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme(t), Cache: setup.Cache(), Metrics: metricsserver.Options{BindAddress: "0"},
		Client: client.Options{Cache: &client.CacheOptions{EnableReadYourWritesConsistency: new(true)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	options := setup.Options{Replicas: apply.Force}
	if options.Runtime, err = coapply.New(mgr); err != nil {
		t.Fatal(err)
	}
	for _, each := range controllers.All() {
		if each.Setup == nil { // the Runtime does it
			continue
		}
		if err := each.Setup(mgr, options); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func statusOf(t *testing.T, c client.Client, object client.Object) *status.Result {
	t.Helper()
	gvk, err := c.GroupVersionKindFor(object)
	if err != nil {
		t.Fatal(err)
	}
	found := &unstructured.Unstructured{}
	found.SetGroupVersionKind(gvk)
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(object), found); err != nil {
		t.Fatal(err)
	}
	result, err := status.Compute(found)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// waitFor waits for a status, and for one with a message if one is given: until then the
// object must not be Current.
func waitFor(t *testing.T, c client.Client, object client.Object, want status.Status, message string) {
	t.Helper()
	var got *status.Result
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, 2*time.Minute, true, func(context.Context) (bool, error) {
		got = statusOf(t, c, object)
		if want != status.CurrentStatus && got.Status == status.CurrentStatus {
			t.Fatalf("%T %s is Current before its time", object, object.GetName())
		}
		return got.Status == want && strings.Contains(got.Message, message), nil
	})
	if err != nil {
		t.Fatalf("%T %s is %s, want %s: %s", object, object.GetName(), got.Status, want, got.Message)
	}
}
