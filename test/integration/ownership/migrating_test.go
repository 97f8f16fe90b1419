package ownership

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"coapply.dev/apply"
	"coapply.dev/apply/ownership"
	"coapply.dev/fieldowners"
	"coapply.dev/test/kit"
)

// migration follows docs/migrating.md with one Deployment: what the guide says goes
// well must, and what it warns of must happen.
type migration struct {
	*testing.T

	c   client.Client
	ref apply.ObjectRef
}

func newMigration(t *testing.T) *migration {
	t.Helper()
	c := kit.NewClient(t, kit.Server(t))
	return &migration{T: t, c: c, ref: kit.RefOf("apps/v1", "Deployment", kit.NewNamespace(t, c), "web")}
}

// old is the controller that the guide starts from: get, modify, update, under the
// name that its binary happens to have.
func (m *migration) old(image string) {
	m.Helper()
	c := client.WithFieldOwner(m.c, "manager")
	m.must(retry.RetryOnConflict(retry.DefaultRetry, func() error {
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: m.ref.Namespace, Name: m.ref.Name}}
		_, err := controllerutil.CreateOrUpdate(m.Context(), c, d, func() error {
			d.Labels = map[string]string{"team": "shop", "tier": "front"}
			controllerutil.AddFinalizer(d, "example.com/drain")
			if d.Spec.Replicas == nil {
				d.Spec.Replicas = ptr.To[int32](3)
			}
			d.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
			d.Spec.Template.Labels = map[string]string{"app": "web"}
			if len(d.Spec.Template.Spec.Containers) == 0 {
				d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "web"}}
			}
			d.Spec.Template.Spec.Containers[0].Image = image
			d.Spec.Template.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80, Protocol: "TCP"}}
			return nil
		})
		return err
	}))
}

// emit is the same as an intent, but for the finalizer and without the label tier.
func (m *migration) emit(image string) *appsv1ac.DeploymentApplyConfiguration {
	config := kit.Deployment("web", m.ref.Namespace, image).WithLabels(map[string]string{"team": "shop"})
	config.Spec.WithReplicas(3)
	config.Spec.Selector.MatchLabels = map[string]string{"app": "web"}
	return config
}

// emitted is where the intent has its fields, and where the old controller had.
var emitted = []string{".metadata.labels", ".metadata.annotations", ".spec"}

func (m *migration) must(err error) {
	m.Helper()
	if err != nil {
		m.Fatal(err)
	}
}

func (m *migration) applier(policy apply.Policy) *apply.Applier {
	m.Helper()
	applier, err := apply.New(m.c, apply.Config{FieldManager: "shop", LiveReader: m.c, Policy: policy})
	m.must(err)
	return applier
}

func (m *migration) migrate(applier *apply.Applier, from ...ownership.From) (undo *ownership.Transfer) {
	m.Helper()
	transfer, err := ownership.Migrate(m.Context(), applier, m.ref, from...)
	m.must(err)
	undo, err = transfer.Do(m.Context())
	m.must(err)
	return undo
}

// step does something and holds which values it changed, and the finalizers.
func (m *migration) step(name string, do func(), changes ...string) {
	m.Helper()
	before, ownedBefore := m.values()
	do()
	after, ownedAfter := m.values()
	var got []string
	for _, change := range fieldowners.Changes(before, after, ownedBefore, ownedAfter) {
		got = append(got, change.String())
	}
	if diff := cmp.Diff(changes, got); diff != "" {
		m.Errorf("%s: changes (-want +got):\n%s", name, diff)
	}
}

// values are those that anybody sets, with who owns them.
func (m *migration) values() (map[string]any, fieldowners.Ownership) {
	m.Helper()
	live, _ := liveFields(m.T, m.c, m.ref)
	ownership, err := fieldowners.Parse(live.GetManagedFields())
	m.must(err)
	metadata := map[string]any{}
	for _, name := range []string{"labels", "annotations", "finalizers", "ownerReferences"} {
		if value, has, _ := unstructured.NestedFieldNoCopy(live.Object, "metadata", name); has {
			metadata[name] = value
		}
	}
	return map[string]any{"metadata": metadata, "spec": live.Object["spec"]}, ownership
}

func (m *migration) apply(applier *apply.Applier, intent apply.Intent) func() {
	return func() { m.Helper(); kit.MustApply(m.T, applier, intent) }
}

func (m *migration) owners(path string) string {
	m.Helper()
	return strings.Join(kit.OwnersOf(m.T, m.c, m.ref.Namespace, m.ref.Name, path), " ")
}

// TestMigrating is the guide from one end to the other.
func TestMigrating(t *testing.T) {
	m := newMigration(t)
	m.old("v1")
	applier := m.applier(apply.Policy{})
	looked, _ := liveFields(t, m.c, m.ref)
	plan, err := applier.Plan(t.Context(), apply.Intent{Config: m.emit("v1")})
	if err != nil || plan.Refused != nil || len(plan.Changes)+len(plan.Dropped) != 0 {
		t.Errorf("%v, %v; nothing is to change yet", plan, err)
	}
	transfer, err := ownership.Migrate(t.Context(), applier, m.ref, ownership.From{Manager: "manager", Paths: emitted})
	m.must(err)
	if shown, _ := liveFields(t, m.c, m.ref); shown.GetResourceVersion() != looked.GetResourceVersion() || len(transfer.Moves()) < 20 {
		t.Errorf("looking is to write nothing and to show the fields:\n%v", transfer)
	}
	m.step("migrate", func() { _, err := transfer.Do(t.Context()); m.must(err) })
	if owners := m.owners(".spec.replicas"); owners != "shop/Apply" {
		t.Errorf("replicas are owned by %s", owners)
	}
	intent := apply.Intent{Config: m.emit("v1")}
	plan, err = applier.Plan(t.Context(), intent)
	if err != nil || len(plan.Changes) != 1 || plan.Changes[0].String() != `.metadata.labels.tier: removed "front"` || len(plan.Dropped) < 10 {
		t.Errorf("%v, %v; the plan is to tell what goes", plan, err)
	}
	m.step("first apply", m.apply(applier, intent), `.metadata.labels.tier: removed "front"`)
	outcome, err := applier.Apply(t.Context(), apply.Intent{Config: m.emit("v1")})
	if err != nil || outcome.Action != apply.Unchanged {
		t.Errorf("%s, %v; want a steady state", outcome.Action, err)
	}
	dropped := m.emit("v1")
	dropped.Labels = nil
	m.step("a field dropped later", m.apply(applier, apply.Intent{Config: dropped}), `.metadata.labels.team: removed "shop"`)
	if owners := m.owners(`.metadata.finalizers[="example.com/drain"]`); owners != "manager/Update" {
		t.Errorf("the finalizer is owned by %s", owners)
	}
}

func TestWithoutMigrateDroppedFieldsStay(t *testing.T) {
	m := newMigration(t)
	m.old("v1")
	applier := m.applier(apply.Policy{})
	m.step("first apply", m.apply(applier, apply.Intent{Config: m.emit("v1")}))
	dropped := m.emit("v1")
	dropped.Labels = nil
	m.step("a field dropped later", m.apply(applier, apply.Intent{Config: dropped}))
	if owners := m.owners(".metadata.labels.team"); owners != "manager/Update" {
		t.Errorf("the label is owned by %s", owners)
	}
}

// TestMigrateAfterTheFirstApply ends as the guide's order does, but a step later:
// the first apply shows nothing of what will go.
func TestMigrateAfterTheFirstApply(t *testing.T) {
	m := newMigration(t)
	m.old("v1")
	applier := m.applier(apply.Policy{})
	intent := apply.Intent{Config: m.emit("v1")}
	m.step("first apply", m.apply(applier, intent))
	m.step("migrate", func() { m.migrate(applier, ownership.From{Manager: "manager", Paths: emitted}) })
	m.step("next apply", m.apply(applier, intent), `.metadata.labels.tier: removed "front"`)
}

func TestMigrateTakesWhatANameHoldsForOthers(t *testing.T) {
	m := newMigration(t)
	m.old("v1")
	other := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"example.com/backup":"daily"}}}`))
	object := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: m.ref.Namespace, Name: m.ref.Name}}
	m.must(m.c.Patch(t.Context(), object, other, client.FieldOwner("manager"))) // another reconciler of the same binary
	applier := m.applier(apply.Policy{})
	undo := m.migrate(applier, ownership.From{Manager: "manager"})
	m.step("undo", func() { _, err := undo.Do(t.Context()); m.must(err) })
	if owners := m.owners(".spec.replicas") + m.owners(`.metadata.annotations["example.com/backup"]`); owners != "manager/Updatemanager/Update" {
		t.Errorf("after undo the fields are owned by %s", owners)
	}
	intent := apply.Intent{Config: m.emit("v1")}
	m.step("apply after undo", m.apply(applier, intent))
	m.migrate(applier, ownership.From{Manager: "manager"})
	m.step("apply after taking everything", m.apply(applier, intent),
		`.metadata.annotations["example.com/backup"]: removed "daily"`, `.metadata.labels.tier: removed "front"`)
	if owners := m.owners(`.metadata.finalizers[="example.com/drain"]`); owners != "manager/Update" {
		t.Errorf("the finalizer is owned by %s", owners)
	}
}

func TestReplicasLeftOut(t *testing.T) {
	without := func(m *migration) apply.Intent {
		config := m.emit("v1")
		config.Spec.Replicas = nil
		return apply.Intent{Config: config}
	}
	scaled := func(m *migration) {
		object := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: m.ref.Namespace, Name: m.ref.Name}}
		m.must(m.c.SubResource("scale").Patch(m.Context(), object, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"replicas":5}}`)), client.FieldOwner("hpa")))
	}
	t.Run("owned by nobody else: the server's default", func(t *testing.T) {
		m := newMigration(t)
		m.old("v1")
		applier := m.applier(apply.Policy{})
		m.migrate(applier, ownership.From{Manager: "manager", Paths: emitted})
		m.step("first apply", m.apply(applier, without(m)), `.metadata.labels.tier: removed "front"`, ".spec.replicas: 3 -> 1")
	})
	t.Run("owned by an autoscaler: they stay", func(t *testing.T) {
		m := newMigration(t)
		m.old("v1")
		scaled(m)
		applier := m.applier(apply.Policy{})
		m.migrate(applier, ownership.From{Manager: "manager", Paths: emitted})
		m.step("first apply", m.apply(applier, without(m)), `.metadata.labels.tier: removed "front"`)
	})
	t.Run("relinquished when an autoscaler comes", func(t *testing.T) {
		m := newMigration(t)
		m.old("v1")
		applier := m.applier(apply.OnConflict(apply.Reject).At(".spec.replicas", apply.Relinquish))
		m.migrate(applier, ownership.From{Manager: "manager", Paths: emitted})
		m.step("first apply", m.apply(applier, apply.Intent{Config: m.emit("v1")}), `.metadata.labels.tier: removed "front"`)
		scaled(m)
		m.step("apply against the autoscaler", m.apply(applier, apply.Intent{Config: m.emit("v1")}))
		if owners := m.owners(".spec.replicas"); owners != "hpa/Update[scale]" {
			t.Errorf("replicas are owned by %s", owners)
		}
	})
}

func TestOldAndNewVersionSideBySide(t *testing.T) {
	m := newMigration(t)
	m.old("v1")
	applier := m.applier(apply.Policy{})
	m.migrate(applier, ownership.From{Manager: "manager", Paths: emitted})
	kit.MustApply(t, applier, apply.Intent{Config: m.emit("v1")})
	m.step("the old version takes back without a word", func() { m.old("v0") },
		`.metadata.labels.tier: added "front"`, `.spec.template.spec.containers[name="web"].image: "v1" -> "v0"`)
	_, err := applier.Apply(t.Context(), apply.Intent{Config: m.emit("v1")})
	if conflict, ok := errors.AsType[*apply.ConflictError](err); !ok || conflict.Conflicts[0].Manager.String() != "manager/Update" {
		t.Errorf("%v; want a conflict with the old version", err)
	}
	rollout := m.applier(apply.OnConflict(apply.Reject).When(apply.Match{Manager: "manager", Operation: metav1.ManagedFieldsOperationUpdate}, apply.Force))
	m.step("the rule for the rollout", m.apply(rollout, apply.Intent{Config: m.emit("v1")}), `.spec.template.spec.containers[name="web"].image: "v0" -> "v1"`)
	if owners := m.owners(`.spec.template.spec.containers[name="web"].image`) + m.owners(".metadata.labels.tier"); owners != "shop/Applymanager/Update" {
		t.Errorf("image and tier are owned by %s; the rule takes what is emitted and no more", owners)
	}
}

func TestRenamedManager(t *testing.T) {
	m := newMigration(t)
	c := kit.NewApplier(t, m.c, "shop-v1", apply.Policy{})
	kit.MustApply(t, c, apply.Intent{Config: m.emit("v1")})
	applier := m.applier(apply.Policy{})
	transfer, err := ownership.Rename(t.Context(), applier, m.ref, ownership.From{Manager: "shop-v1"})
	m.must(err)
	m.step("rename", func() { _, err := transfer.Do(t.Context()); m.must(err) })
	m.step("apply", m.apply(applier, apply.Intent{Config: m.emit("v1")}))
	dropped := m.emit("v1")
	dropped.Labels = nil
	m.step("a field dropped later", m.apply(applier, apply.Intent{Config: dropped}), `.metadata.labels.team: removed "shop"`)
}
