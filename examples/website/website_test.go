package website

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

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

// TestConflictIsReported runs the controller while another field manager owns the image of its Deployment.
func TestConflictIsReported(t *testing.T) {
	scheme, err := newScheme()
	if err != nil {
		t.Fatal(err)
	}
	s := applytest.NewServer(t, applytest.WithScheme(scheme))
	if _, err := envtest.InstallCRDs(s.Config(), envtest.CRDInstallOptions{Paths: []string{"crd.yaml"}}); err != nil {
		t.Fatal(err)
	}
	site := sample()
	site.UID = "" // the API server sets it
	for _, object := range []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: site.Namespace}}, site} {
		if err := s.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	intents, err := emit(site)
	if err != nil {
		t.Fatal(err)
	}
	rival := intents[1].Config.(*appsv1ac.DeploymentApplyConfiguration) //nolint:forcetypeassert // see emit
	rival.Spec.Template.Spec.Containers[0].WithImage("nginx:1.30")
	if err := s.Apply(t.Context(), rival, client.FieldOwner("image-updater")); err != nil {
		t.Fatal(err)
	}

	mgr := applytest.NewManager(t, s, ctrl.Options{})
	if err := Setup(mgr); err != nil {
		t.Fatal(err)
	}
	applytest.StartManager(t, mgr)

	for deadline := time.Now().Add(3 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if err := s.Get(t.Context(), client.ObjectKeyFromObject(site), site); err != nil {
			t.Fatal(err)
		}
		applied := meta.FindStatusCondition(site.Status.Conditions, "Applied")
		if applied != nil && applied.Reason == "OwnershipConflict" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the condition is %v", applied)
		}
	}
}
