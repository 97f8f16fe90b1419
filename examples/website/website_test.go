package website

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	"coapply.dev"
	"coapply.dev/apply/applytest"
)

func sample() *Website {
	return &Website{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "home", UID: "0000-1", Finalizers: []string{Finalizer}},
		Spec:       Spec{Page: "<h1>Hello</h1>"},
	}
}

// TestEmit shows each field that the reconciler will own.
func TestEmit(t *testing.T) {
	intents, err := emit(sample())
	if err != nil {
		t.Fatal(err)
	}
	applytest.Golden(t, "testdata/website.yaml", intents...)
}

// TestConflictIsTold has somebody else own the image.
func TestConflictIsTold(t *testing.T) {
	site := sample()
	c := fakeClient(t, site)
	rival := appsv1ac.Deployment(childName(site.Name), site.Namespace).WithSpec(appsv1ac.DeploymentSpec().WithTemplate(corev1ac.PodTemplateSpec().
		WithSpec(corev1ac.PodSpec().WithContainers(corev1ac.Container().WithName("web").WithImage("registry.example.com/web:2")))))
	if err := c.Apply(t.Context(), rival, client.FieldOwner("image-updater")); err != nil {
		t.Fatal(err)
	}
	mgr := newManager(t, c)
	rt, err := coapply.New(mgr)
	if err != nil {
		t.Fatal(err)
	}
	r, err := controller(mgr, rt).Reconciler()
	if err != nil {
		t.Fatal(err)
	}
	result, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(site)})
	if err != nil || result.RequeueAfter == 0 {
		t.Errorf("%v, %v; want to come back later, without an error", result, err)
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(site), site); err != nil {
		t.Fatal(err)
	}
	if applied := meta.FindStatusCondition(site.Status.Conditions, "Applied"); applied == nil || applied.Reason != "OwnershipConflict" {
		t.Errorf("the condition is %v", applied)
	}
}

// inMemory is a manager whose objects are a client's.
type inMemory struct {
	ctrl.Manager

	client client.Client
}

func (m inMemory) GetClient() client.Client                       { return m.client }
func (m inMemory) GetAPIReader() client.Reader                    { return m.client }
func (m inMemory) GetEventRecorder(string) recorder.EventRecorder { return events.NewFakeRecorder(10) }

func newManager(t *testing.T, c client.Client) ctrl.Manager {
	t.Helper()
	mgr, err := ctrl.NewManager(&rest.Config{}, ctrl.Options{Scheme: c.Scheme(), Metrics: metricsserver.Options{BindAddress: "0"}})
	if err != nil {
		t.Fatal(err)
	}
	return inMemory{mgr, c}
}

func fakeClient(t *testing.T, site *Website) client.WithWatch {
	t.Helper()
	scheme, err := newScheme()
	if err != nil {
		t.Fatal(err)
	}
	child := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
		Namespace: site.Namespace, Name: childName(site.Name), UID: "0000-2",
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "example.coapply.dev/v1", Kind: "Website", Name: site.Name, UID: site.UID}},
	}}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(site, child).WithStatusSubresource(site).Build()
}
