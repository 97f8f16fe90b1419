package apply

import (
	"context"
	"errors"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev"
	"coapply.dev/apply"
	"coapply.dev/apply/applytest"
	"coapply.dev/apply/ownership"
	"coapply.dev/apply/update"
	"coapply.dev/platform/controllers/setup"
	"coapply.dev/test/kit"
)

// The notfound_*_test.go files test a 404 that the API server returns for a write to an object
// that exists.

// wantRefused checks that an error says that a write was refused, not that the object is gone.
func wantRefused(t *testing.T, reason string, err error, parts ...string) {
	t.Helper()
	if !errors.Is(err, apply.ErrRefused) || errors.Is(err, apply.ErrUIDMismatch) || apierrors.IsNotFound(err) {
		t.Errorf("%s: %v, want a RefusedError that no caller takes for the absence of the object", reason, err)
		return
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%s: the error lacks %q: %v", reason, part, err)
		}
	}
}

// existing is a Deployment with a finalizer in a namespace whose writes a webhook answers.
type existing struct {
	client.Client

	webhook    *kit.Webhook
	deployment *appsv1.Deployment
	applier    *apply.Applier
	updater    *update.Updater
	recorder   *kit.Recorder // of Applier and Updater
}

func newExisting(t *testing.T) *existing {
	t.Helper()
	e := &existing{Client: kit.NewClient(t, kit.Server(t)), recorder: &kit.Recorder{}}
	config := kit.Server(t)
	config.Wrap(e.recorder.Wrap)
	c := kit.NewClient(t, config)
	e.applier, e.updater = kit.NewApplier(t, c, "us", apply.Policy{}), newUpdater(t, c, update.DefaultRetry)
	namespace := kit.NewNamespace(t, e)
	e.deployment = podsOf(metav1.ObjectMeta{Namespace: namespace, Name: "web", Finalizers: []string{ourFinalizer}})
	if err := e.Create(t.Context(), e.deployment, client.FieldOwner("them")); err != nil {
		t.Fatal(err)
	}
	if err := e.Apply(t.Context(), appsv1ac.Deployment("web", namespace).WithLabels(map[string]string{"a": "b"}), client.FieldOwner("us")); err != nil {
		t.Fatal(err)
	}
	if err := e.Get(t.Context(), client.ObjectKeyFromObject(e.deployment), e.deployment); err != nil {
		t.Fatal(err)
	}
	e.webhook = kit.NewWebhook(t, e, namespace)
	t.Cleanup(func() {
		e.webhook.Answer(nil)
		_ = e.Patch(context.Background(), e.deployment, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`)))
	})
	return e
}

func (e *existing) ref() apply.ObjectRef {
	return kit.DeploymentRef(e.deployment.Namespace, e.deployment.Name)
}

func (e *existing) status() *appsv1ac.DeploymentApplyConfiguration {
	return appsv1ac.Deployment(e.deployment.Name, e.deployment.Namespace).WithStatus(appsv1ac.DeploymentStatus().WithObservedGeneration(7))
}

// TestNotFoundOfWebhook: a webhook passes on a 404 of its own, as controller-runtime's
// WithValidator does. No verb takes the object for absent, and each reads once more.
func TestNotFoundOfWebhook(t *testing.T) {
	e := newExisting(t)
	label := func(o *appsv1.Deployment) error { o.Labels["new"] = "label"; return nil }
	for _, test := range []struct {
		reason string
		sent   string // "" where the requests are not recorded
		call   func(ctx context.Context) error
	}{
		{"RemoveFinalizer", "get, update, get", func(ctx context.Context) error {
			_, err := update.RemoveFinalizer(ctx, e.updater, e.deployment, ourFinalizer)
			return err
		}},
		{"EnsureFinalizer", "get, update, get", func(ctx context.Context) error {
			_, err := update.EnsureFinalizer(ctx, e.updater, e.deployment, keepFinalizer)
			return err
		}},
		{"Do", "get, update, get", func(ctx context.Context) error {
			_, err := update.Do(ctx, e.updater, e.deployment, label)
			return err
		}},
		{"Status", "get, update, get", func(ctx context.Context) error {
			_, err := update.Status(ctx, e.updater, e.deployment, func(o *appsv1.Deployment) error { o.Status.ObservedGeneration = 7; return nil })
			return err
		}},
		{"Apply", "apply, get", func(ctx context.Context) error {
			config := appsv1ac.Deployment(e.deployment.Name, e.deployment.Namespace).WithLabels(map[string]string{"a": "c"})
			_, err := e.applier.Apply(ctx, apply.Intent{Config: config})
			return err
		}},
		{"Apply of the status by name", "apply, get", func(ctx context.Context) error {
			_, err := e.applier.Apply(ctx, apply.Intent{Config: e.status(), Subresource: "status"})
			return err
		}},
		{"Apply of the status by uid", "apply, get", func(ctx context.Context) error {
			_, err := e.applier.Apply(ctx, apply.Intent{Config: e.status(), Subresource: "status", UID: e.deployment.UID})
			return err
		}},
		{"Apply of the status of an object that must exist", "get, apply, get", func(ctx context.Context) error {
			_, err := e.applier.Apply(ctx, apply.Intent{Config: e.status(), Subresource: "status", MustExist: true})
			return err
		}},
		{"Plan", "get, apply, get", func(ctx context.Context) error {
			_, err := e.applier.Plan(ctx, apply.Intent{Config: e.status(), Subresource: "status"})
			return err
		}},
		{"Release", "get, apply, get", func(ctx context.Context) error {
			_, err := ownership.Release(ctx, e.applier, e.ref())
			return err
		}},
		{"Migrate", "get, patch, get", func(ctx context.Context) error {
			transfer, err := ownership.Migrate(ctx, e.applier, e.ref(), ownership.From{Manager: "them"})
			if err == nil {
				_, err = transfer.Do(ctx)
			}
			return err
		}},
		{"Delete of a controller of the platform", "", func(ctx context.Context) error {
			return setup.Delete(ctx, e, e, e.deployment)
		}},
	} {
		for _, name := range []string{e.deployment.Name, "another"} {
			e.webhook.Answer(kit.NotFoundOf(name))
			before := len(e.recorder.Requests())
			err := test.call(t.Context())
			e.webhook.Answer(nil)
			wantRefused(t, test.reason+" answered with the name "+name, err, "web", "references.example.com", "exists")
			var sent []string
			for _, request := range e.recorder.Requests()[before:] {
				if request.Verb != "" { // discovery
					sent = append(sent, request.Verb)
				}
			}
			if got := strings.Join(sent, ", "); test.sent != "" && got != test.sent {
				t.Errorf("%s sent %s, want %s", test.reason, got, test.sent)
			}
		}
	}
	var live appsv1.Deployment
	if err := e.Get(t.Context(), client.ObjectKeyFromObject(e.deployment), &live); err != nil || live.ResourceVersion != e.deployment.ResourceVersion {
		t.Errorf("something was written: %v, %v", live.ObjectMeta, err)
	}
}

// TestNotFoundOfWebhookThroughClient: the drop-in client returns no NotFound either.
func TestNotFoundOfWebhookThroughClient(t *testing.T) {
	e := newExisting(t)
	mgr := newDropInManager(t, kit.Server(t))
	rt, err := coapply.New(mgr)
	if err != nil {
		t.Fatal(err)
	}
	applytest.StartManager(t, mgr)
	c := rt.Client("us", apply.Policy{})
	e.webhook.Answer(kit.NotFoundOf("another"))
	wantRefused(t, "status", c.Status().Apply(t.Context(), e.status()), "references.example.com")
	config := appsv1ac.Deployment(e.deployment.Name, e.deployment.Namespace).WithLabels(map[string]string{"a": "c"})
	wantRefused(t, "the object", c.Apply(t.Context(), config), "references.example.com")
}

// TestNotFoundOfAbsentObject: an object that does not exist is still reported as absent, after
// one more read.
func TestNotFoundOfAbsentObject(t *testing.T) {
	e := newExisting(t)
	absent := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: e.deployment.Namespace, Name: "absent"}}
	if _, err := update.RemoveFinalizer(t.Context(), e.updater, absent, ourFinalizer); err != nil {
		t.Error(err)
	}
	if _, err := update.Do(t.Context(), e.updater, absent, func(*corev1.ConfigMap) error { return nil }); !apierrors.IsNotFound(err) {
		t.Error(err)
	}
	status := e.status().WithName("absent")
	before := len(e.recorder.Requests())
	if outcome, err := e.applier.Apply(t.Context(), apply.Intent{Config: status, Subresource: "status"}); err != nil || outcome.Action != apply.Absent || outcome.Requests != 2 {
		t.Error(outcome, err)
	}
	if sent := len(e.recorder.Requests()) - before; sent != 2 {
		t.Errorf("%d requests, want the write and one read", sent)
	}
	if err := setup.Delete(t.Context(), e, e, absent); err != nil {
		t.Error(err)
	}
}
