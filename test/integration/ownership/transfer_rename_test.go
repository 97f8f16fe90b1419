package ownership

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/ownership"
	"coapply.dev/test/kit"
)

type renaming struct {
	reason string
	before map[string]*appsv1ac.DeploymentApplyConfiguration // by manager; base comes first
	from   []ownership.From
	after  *appsv1ac.DeploymentApplyConfiguration // the intent that "us" goes on with
	rest   map[string]*appsv1ac.DeploymentApplyConfiguration
	owners []string // who is left
}

// TestRename moves what managers applied: values stay, the next apply of the full
// intent changes nothing, of nobody, and an undo restores every owner.
func TestRename(t *testing.T) {
	c := kit.NewClient(t, kit.Server(t))
	namespace := kit.NewNamespace(t, c)
	labels := func(name string, keys ...string) *appsv1ac.DeploymentApplyConfiguration {
		config := appsv1ac.Deployment(name, namespace)
		for _, key := range keys {
			config.WithLabels(map[string]string{key: "1"})
		}
		return config
	}
	imageOnly := func(name, image string) *appsv1ac.DeploymentApplyConfiguration {
		return appsv1ac.Deployment(name, namespace).WithSpec(appsv1ac.DeploymentSpec().WithTemplate(corev1ac.PodTemplateSpec().
			WithSpec(corev1ac.PodSpec().WithContainers(corev1ac.Container().WithName("web").WithImage(image)))))
	}
	portOnly := kit.Deployment("field-of-item", namespace, "v1")
	portOnly.Spec.Template.Spec.Containers[0].Image = nil
	type configs = map[string]*appsv1ac.DeploymentApplyConfiguration
	for name, test := range map[string]renaming{
		"whole": {
			reason: "one manager gets another name",
			before: configs{"base": kit.WithEnv("whole", namespace)}, from: []ownership.From{{Manager: "base"}},
			after: kit.WithEnv("whole", namespace), owners: []string{"us/Apply"},
		},
		"merge": {
			reason: "two become one, with a field that both own",
			before: configs{"base": kit.WithEnv("merge", namespace), "two": labels("merge", "team", "x.y/z").WithLabels(map[string]string{"team": "shop"})},
			from:   []ownership.From{{Manager: "base"}, {Manager: "two"}},
			after:  kit.WithEnv("merge", namespace).WithLabels(map[string]string{"x.y/z": "1"}), owners: []string{"us/Apply"},
		},
		"split": {
			reason: "by a map key with dots",
			before: configs{"base": kit.Deployment("split", namespace, "v1").WithLabels(map[string]string{"x.y/z": "1", "stays": "1"})},
			from:   []ownership.From{{Manager: "base", Paths: []string{`.metadata.labels["x.y/z"]`}}},
			after:  labels("split", "x.y/z"),
			rest:   configs{"base": kit.Deployment("split", namespace, "v1").WithLabels(map[string]string{"stays": "1"})},
			owners: []string{"base/Apply", "us/Apply"},
		},
		"field-of-item": {
			reason: "one field of a list item: both go on naming the item",
			before: configs{"base": kit.Deployment("field-of-item", namespace, "v1")},
			from:   []ownership.From{{Manager: "base", Paths: []string{`.spec.template.spec.containers[name="web"].image`}}},
			after:  imageOnly("field-of-item", "v1"), rest: configs{"base": portOnly},
			owners: []string{"base/Apply", "us/Apply"},
		},
	} {
		t.Run(name, func(t *testing.T) { test.run(t, c, namespace, name) })
	}
}

func (r renaming) run(t *testing.T, c client.Client, namespace, name string) {
	t.Log(r.reason)
	for _, manager := range []string{"base", "two"} {
		if config := r.before[manager]; config != nil {
			if _, err := kit.NewApplier(t, c, manager, apply.Policy{}).Apply(t.Context(), apply.Intent{Config: config}); err != nil {
				t.Fatal(err)
			}
		}
	}
	ref := kit.DeploymentRef(namespace, name)
	before := kit.LiveAt(t, c, ref)
	us := kit.NewApplier(t, c, "us", apply.Policy{})
	transfer, err := ownership.Rename(t.Context(), us, ref, r.from...)
	undo := kit.Transferred(t, transfer, err)
	after := kit.LiveAt(t, c, ref)
	if diff := cmp.Diff(kit.WithoutManagedFields(before), kit.WithoutManagedFields(after)); diff != "" {
		t.Errorf("renaming changed values:\n%s", diff)
	}
	if diff := cmp.Diff(r.owners, managersIn(t, after)); diff != "" {
		t.Errorf("managers (-want +got):\n%s\n%v", diff, transfer)
	}
	unchanged(t, us, r.after, after)
	for manager, rest := range r.rest {
		unchanged(t, kit.NewApplier(t, c, manager, apply.Policy{}), rest, after)
	}
	redo, err := undo.Do(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	restored := kit.LiveAt(t, c, ref)
	if diff := cmp.Diff(kit.FieldsBy(t, before.GetManagedFields()), kit.FieldsBy(t, restored.GetManagedFields())); diff != "" {
		t.Errorf("owners (-before +undone):\n%s", diff)
	}
	if _, err := redo.Do(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(kit.FieldsBy(t, after.GetManagedFields()), kit.FieldsBy(t, kit.LiveAt(t, c, ref).GetManagedFields())); diff != "" {
		t.Errorf("owners (-after +redone):\n%s", diff)
	}
}

// unchanged holds that an apply is no write at all.
func unchanged(t *testing.T, applier *apply.Applier, config *appsv1ac.DeploymentApplyConfiguration, at client.Object) {
	t.Helper()
	outcome, err := applier.Apply(t.Context(), apply.Intent{Config: config, MustExist: true})
	if err != nil || outcome.Action != apply.Unchanged || outcome.Object.ResourceVersion != at.GetResourceVersion() {
		t.Errorf("%s: %s at %s, want Unchanged at %s, %v", applier.FieldManager(), outcome.Action,
			outcome.Object.ResourceVersion, at.GetResourceVersion(), err)
	}
}

// TestTransferOfGone deletes, and recreates, the object before each step: it is
// never brought back, and the new one is not touched.
func TestTransferOfGone(t *testing.T) {
	c := kit.NewClient(t, kit.Server(t))
	namespace := kit.NewNamespace(t, c)
	ref := kit.RefTo(corev1.SchemeGroupVersion.WithKind("ConfigMap"), namespace, "a")
	create := func(t *testing.T) *corev1.ConfigMap {
		t.Helper()
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "a"}, Data: map[string]string{"k": "v"}}
		if err := c.Create(t.Context(), object, client.FieldOwner("old")); err != nil {
			t.Fatal(err)
		}
		return object
	}
	us := kit.NewApplier(t, c, "us", apply.Policy{})
	plan := func(t *testing.T) *ownership.Transfer {
		t.Helper()
		transfer, err := ownership.Migrate(t.Context(), us, ref, ownership.From{Manager: "old"})
		if err != nil {
			t.Fatal(err)
		}
		return transfer
	}
	do := func(t *testing.T, transfer *ownership.Transfer) error {
		t.Helper()
		_, err := transfer.Do(t.Context())
		return err
	}
	for name, step := range map[string]func(*testing.T, types.UID) func(*testing.T) error{
		"before the plan": func(_ *testing.T, uid types.UID) func(*testing.T) error {
			return func(t *testing.T) error {
				known := ref
				known.UID = uid
				_, err := ownership.Migrate(t.Context(), us, known, ownership.From{Manager: "old"})
				return err
			}
		},
		"before the move": func(t *testing.T, _ types.UID) func(*testing.T) error {
			transfer := plan(t)
			return func(t *testing.T) error { return do(t, transfer) }
		},
		"before the undo": func(t *testing.T, _ types.UID) func(*testing.T) error {
			undo, err := plan(t).Do(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return func(t *testing.T) error { return do(t, undo) }
		},
	} {
		for _, recreated := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				object := create(t)
				next := step(t, object.UID)
				if err := c.Delete(t.Context(), object); err != nil {
					t.Fatal(err)
				}
				var again *corev1.ConfigMap
				if recreated {
					again = create(t)
				}
				if err := next(t); !errors.Is(err, apply.ErrUIDMismatch) || strings.Contains(err.Error(), "\n") {
					t.Errorf("got %v, want ErrUIDMismatch", err)
				}
				err := c.Get(t.Context(), ref.NamespacedName, object)
				if !recreated && !apierrors.IsNotFound(err) {
					t.Errorf("the object is back: %v %v", object, err)
				}
				if recreated && (err != nil || object.ResourceVersion != again.ResourceVersion) {
					t.Errorf("the recreated object was touched: %v %v", object, err)
				}
				if err := client.IgnoreNotFound(c.Delete(t.Context(), object)); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
	_, err := ownership.Migrate(t.Context(), us, ref, ownership.From{Manager: "old"})
	if !errors.Is(err, apply.ErrRefused) || !strings.Contains(err.Error(), "not found") {
		t.Errorf("absent and no uid known: %v", err)
	}
}

// TestTransferShowsWhatItMoves lets an intent grow between plan and move.
func TestTransferShowsWhatItMoves(t *testing.T) {
	c := kit.NewClient(t, kit.Server(t))
	namespace := kit.NewNamespace(t, c)
	old := kit.NewApplier(t, c, "old", apply.Policy{})
	if _, err := old.Apply(t.Context(), apply.Intent{Config: kit.Deployment("a", namespace, "v1")}); err != nil {
		t.Fatal(err)
	}
	us := kit.NewApplier(t, c, "us", apply.Policy{})
	transfer, err := ownership.Rename(t.Context(), us, kit.DeploymentRef(namespace, "a"), ownership.From{Manager: "old"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := old.Apply(t.Context(), apply.Intent{Config: kit.WithEnv("a", namespace)}); err != nil {
		t.Fatal(err)
	}
	before := kit.LiveAt(t, c, kit.DeploymentRef(namespace, "a"))
	if _, err := transfer.Do(t.Context()); !errors.Is(err, apply.ErrStaleWrite) {
		t.Errorf("got %v, want ErrStaleWrite", err)
	}
	var live appsv1.Deployment
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(before), &live); err != nil || live.ResourceVersion != before.GetResourceVersion() {
		t.Errorf("something moved that was not shown: %v", err)
	}
}
