package apply

import (
	"context"
	"errors"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"coapply.dev/apply"
	"coapply.dev/apply/reconciler"
	"coapply.dev/apply/update"
	"coapply.dev/test/kit"
)

// statusless is a kind whose CustomResourceDefinition has no status subresource.
type statusless struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec   map[string]string `json:"spec,omitempty"`
	Status map[string]string `json:"status,omitempty"`
}

func (s *statusless) DeepCopyObject() runtime.Object {
	copied := *s
	s.ObjectMeta.DeepCopyInto(&copied.ObjectMeta)
	return &copied
}

var statuslessKind = schema.GroupVersionKind{Group: "statusless.example.com", Version: "v1", Kind: "Widget"}

// newStatusless installs the kind and returns a client, and an object of the kind.
func newStatusless(t *testing.T) (client.Client, *statusless) {
	t.Helper()
	config := kit.Server(t)
	if _, err := kit.InstallCRDs(config, envtest.CRDInstallOptions{CRDs: []*apiextensionsv1.CustomResourceDefinition{kit.Widgets(statuslessKind)}}); err != nil {
		t.Fatal(err)
	}
	namespace := kit.NewNamespace(t, kit.NewClient(t, config))
	scheme := runtime.NewScheme()
	scheme.AddKnownTypeWithName(statuslessKind, &statusless{})
	metav1.AddToGroupVersion(scheme, statuslessKind.GroupVersion())
	config = rest.CopyConfig(config)
	config.Wrap(apply.RecordExchange)
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	widget := &statusless{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "a"}, Spec: map[string]string{"size": "1"}}
	if err := c.Create(t.Context(), widget); err != nil {
		t.Fatal(err)
	}
	return c, widget
}

const statusOfCRD = "spec.versions[].subresources.status"

func widgetStatus(widget *statusless) runtime.ApplyConfiguration {
	return widgetConfig(widget, map[string]any{"status": map[string]any{"phase": "Ready"}})
}

func widgetConfig(widget *statusless, content map[string]any) runtime.ApplyConfiguration {
	object := &unstructured.Unstructured{Object: content}
	object.SetGroupVersionKind(statuslessKind)
	object.SetNamespace(widget.Namespace)
	object.SetName(widget.Name)
	return client.ApplyConfigurationFromUnstructured(object)
}

// TestNotFoundWithoutStatusSubresource: the API server answers a write of the status with a 404
// that has the name of the object, which exists.
func TestNotFoundWithoutStatusSubresource(t *testing.T) {
	c, widget := newStatusless(t)
	applier := kit.NewApplier(t, c, "us", apply.Policy{})
	for reason, intent := range map[string]apply.Intent{
		"by name":    {},
		"by uid":     {UID: widget.UID},
		"must exist": {MustExist: true},
	} {
		intent.Config, intent.Subresource = widgetStatus(widget), "status"
		outcome, err := applier.Apply(t.Context(), intent)
		wantRefused(t, "Apply "+reason, err, statusOfCRD)
		if outcome.Action != "" {
			t.Errorf("%s: %v", reason, outcome.Action)
		}
		_, err = applier.Plan(t.Context(), intent)
		wantRefused(t, "Plan "+reason, err, statusOfCRD)
	}
	_, err := update.Status(t.Context(), newUpdater(t, c, update.DefaultRetry), widget, setPhase)
	wantRefused(t, "update.Status", err, statusOfCRD)
	scale := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "autoscaling/v1", "kind": "Scale", "spec": map[string]any{"replicas": int64(1)}}}
	named := widgetConfig(widget, map[string]any{})
	for _, policy := range []apply.Decision{apply.Reject, apply.Relinquish} {
		_, err = kit.NewApplier(t, c, "us", apply.OnConflict(policy)).Apply(t.Context(), apply.Intent{
			Config: named, Subresource: "scale", Body: client.ApplyConfigurationFromUnstructured(scale)})
		wantRefused(t, "scale", err, "spec.versions[].subresources.scale")
	}
}

func setPhase(widget *statusless) error {
	widget.Status = map[string]string{"phase": "Ready"}
	return nil
}

// TestNotFoundOfParentStatus: a parent whose status cannot be written is reconciled again, and
// is not taken for deleted.
func TestNotFoundOfParentStatus(t *testing.T) {
	c, widget := newStatusless(t)
	for reason, report := range map[string]reconciler.Report[*statusless]{
		"Change": {Change: setPhase},
		"Apply":  {Apply: widgetStatus(widget)},
	} {
		reconciled := 0
		r, err := reconciler.New(reconciler.Config[*statusless]{
			Client: c, Applier: kit.NewApplier(t, c, "us", apply.Policy{}), Updater: newUpdater(t, c, update.DefaultRetry),
			Emit: func(*statusless) ([]apply.Intent, error) { return nil, nil },
			Status: func(context.Context, *statusless, reconciler.Applied) (reconciler.Report[*statusless], error) {
				reconciled++
				return report, nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			result, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(widget)})
			if result.RequeueAfter == 0 && !errors.Is(err, apply.ErrRefused) {
				t.Errorf("%s: %v, %v, want another reconcile", reason, result, err)
			}
		}
		if reconciled != 2 {
			t.Errorf("%s: the parent was reconciled %d times, want 2", reason, reconciled)
		}
	}
}

// TestNotFoundOfChange: a NotFound of the function that changes the status is about something
// else than the parent.
func TestNotFoundOfChange(t *testing.T) {
	c, widget := newStatusless(t)
	absent := apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, "absent")
	reconciled := 0
	r, err := reconciler.New(reconciler.Config[*statusless]{
		Client: c, Applier: kit.NewApplier(t, c, "us", apply.Policy{}), Updater: newUpdater(t, c, update.DefaultRetry),
		Emit: func(*statusless) ([]apply.Intent, error) { return nil, nil },
		Status: func(context.Context, *statusless, reconciler.Applied) (reconciler.Report[*statusless], error) {
			reconciled++
			return reconciler.Report[*statusless]{Change: func(*statusless) error { return absent }}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(widget)}); !errors.Is(err, absent) {
			t.Errorf("%v, want %v", err, absent)
		}
	}
	if reconciled != 2 {
		t.Errorf("the parent was reconciled %d times, want 2", reconciled)
	}
}
