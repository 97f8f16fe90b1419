package apply

import (
	"errors"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev"
	"coapply.dev/apply"
	"coapply.dev/apply/applytest"
	"coapply.dev/test/kit"
)

// TestFirstDayOfAnApply makes common mistakes in an intent. Each error says what failed, on which
// object and field, why, and what to do.
func TestFirstDayOfAnApply(t *testing.T) {
	t.Parallel()
	c := kit.NewClient(t, kit.Server(t))
	namespace := kit.NewNamespace(t, c)
	mgr := newDropInManager(t, kit.Server(t))
	rt, err := coapply.New(mgr)
	if err != nil {
		t.Fatal(err)
	}
	applier, err := rt.Applier(dropInManager, apply.Policy{})
	if err != nil {
		t.Fatal(err)
	}
	applytest.StartManager(t, mgr)
	labels := map[string]string{"app": "web"}
	web := func(name string) *appsv1ac.DeploymentApplyConfiguration {
		return appsv1ac.Deployment(name, namespace).WithSpec(appsv1ac.DeploymentSpec().
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(labels)).
			WithTemplate(corev1ac.PodTemplateSpec().WithLabels(labels).
				WithSpec(corev1ac.PodSpec().WithContainers(corev1ac.Container().WithName("web").WithImage("web:1")))))
	}
	noImage := web("no-image")
	noImage.Spec.Template.Spec.Containers[0].Image = nil
	large := func(size int) runtime.ApplyConfiguration {
		return corev1ac.ConfigMap("large", namespace).WithData(map[string]string{"a": strings.Repeat("x", size)})
	}
	for _, test := range []struct {
		mistake string
		config  runtime.ApplyConfiguration
		class   error
		want    string // part of the error
	}{
		{"a nil intent", nil, apply.ErrInvalidIntent, "invalid intent: the apply configuration is a <nil>, but must be a pointer that is not nil"},
		{"a nil configuration", (*appsv1ac.DeploymentApplyConfiguration)(nil), apply.ErrInvalidIntent, "must be a pointer that is not nil"},
		{"a typed object", converted(t, &appsv1.Deployment{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "typed"}}), apply.ErrInvalidIntent,
			"/typed: the intent sets an empty status, probably because the intent was made from a typed object"},
		{"a forgotten required field", noImage, apply.ErrRefused,
			`/no-image was refused: Deployment.apps "no-image" is invalid: spec.template.spec.containers[0].image: Required value`},
		{"no namespace", corev1ac.ConfigMap("page", ""), apply.ErrInvalidIntent,
			"invalid intent for ConfigMap page: a namespace is needed: ConfigMap is namespaced"},
		{"a namespace too many", corev1ac.Namespace("page").WithNamespace("shop"), apply.ErrInvalidIntent,
			`invalid intent for Namespace shop/page: the object must not have a namespace ("shop"): Namespace is not namespaced`},
		{"a namespace that is not there", corev1ac.ConfigMap("page", "no-such-namespace"), apply.ErrRefused,
			`ConfigMap no-such-namespace/page was refused: namespaces "no-such-namespace" not found`},
		{"a wrong name", corev1ac.ConfigMap("Page_1", namespace), apply.ErrRefused,
			`/Page_1 was refused: ConfigMap "Page_1" is invalid: metadata.name: Invalid value`},
		{"the status with the object", web("status").WithStatus(appsv1ac.DeploymentStatus().WithReplicas(3)), apply.ErrRefused,
			`/status was refused: the API server dropped the status and wrote the other fields: apply the status with another intent, whose Intent.Subresource is "status"`},
		{"an object above the limit of its kind", large(1_100_000), apply.ErrRefused,
			`/large was refused: ConfigMap "large" is invalid: []: Too long: may not be more than 1048576 bytes`},
		{"an object above the limit of a request", large(3_300_000), apply.ErrRefused, "/large was refused: Request entity too large: limit is 3145728"},
	} {
		_, err := applier.Apply(t.Context(), apply.Intent{Config: test.config})
		if !errors.Is(err, test.class) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.mistake, err, test.want)
		}
	}
}

func converted(t *testing.T, object runtime.Object) runtime.ApplyConfiguration {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		t.Fatal(err)
	}
	return client.ApplyConfigurationFromUnstructured(&unstructured.Unstructured{Object: content})
}

// TestFirstDayWithoutRight: the error names the user, the verb and the object.
func TestFirstDayWithoutRight(t *testing.T) {
	t.Parallel()
	c := kit.NewClient(t, kit.Server(t))
	namespace := kit.NewNamespace(t, c)
	nobody := rest.CopyConfig(kit.Server(t))
	nobody.Impersonate = rest.ImpersonationConfig{UserName: "nobody", Groups: []string{"system:authenticated"}}
	applier, err := apply.New(kit.NewClient(t, nobody), apply.Config{FieldManager: dropInManager, LiveReader: c})
	if err != nil {
		t.Fatal(err)
	}
	_, err = applier.Apply(t.Context(), apply.Intent{Config: corev1ac.ConfigMap("page", namespace)})
	want := "ConfigMap " + namespace + `/page was refused: configmaps "page" is forbidden: User "nobody" cannot patch resource "configmaps"`
	if !errors.Is(err, apply.ErrRefused) || !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
}

// TestFirstDayRetryOnConflict: client-go's RetryOnConflict treats an ownership conflict as a
// stale write, and repeats the apply without success.
func TestFirstDayRetryOnConflict(t *testing.T) {
	t.Parallel()
	c := kit.NewClient(t, kit.Server(t))
	namespace := kit.NewNamespace(t, c)
	page := func(title string) *corev1ac.ConfigMapApplyConfiguration {
		return corev1ac.ConfigMap("page", namespace).WithData(map[string]string{"title": title})
	}
	if err := c.Apply(t.Context(), page("theirs"), client.FieldOwner("example-editor")); err != nil {
		t.Fatal(err)
	}
	applier, err := apply.New(c, apply.Config{FieldManager: dropInManager, LiveReader: c})
	if err != nil {
		t.Fatal(err)
	}
	tries := 0
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		tries++
		_, err := applier.Apply(t.Context(), apply.Intent{Config: page("ours")})
		return err
	})
	if tries != retry.DefaultRetry.Steps || !apply.IsOwnershipConflict(err) || !strings.Contains(err.Error(), "a retry would get the same conflict") {
		t.Errorf("after %d tries: %v", tries, err)
	}
}
