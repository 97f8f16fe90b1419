package ownership

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/ownership"
	"coapply.dev/apply/update"
	"coapply.dev/test/kit"
)

// TestMigratingFromTwoNames names the field manager while the controller still
// updates: what it changes from then on is the new name's, the rest the old one's.
func TestMigratingFromTwoNames(t *testing.T) {
	m := newMigration(t)
	m.old("v1")
	updater, err := update.New(update.Config{Client: m.c, LiveReader: m.c, FieldManager: "shop"})
	m.must(err)
	var object appsv1.Deployment
	m.must(m.c.Get(t.Context(), m.ref.NamespacedName, &object))
	for _, image := range []string{"v1", "v2"} {
		result, err := update.Do(t.Context(), updater, &object, func(d *appsv1.Deployment) error {
			d.Spec.Template.Spec.Containers[0].Image = image
			return nil
		})
		if err != nil || result.Changed != (image == "v2") {
			t.Errorf("%s: %+v, %v", image, result, err)
		}
	}
	const image = `.spec.template.spec.containers[name="web"].image`
	if owners := m.owners(image) + " " + m.owners(".spec.replicas"); owners != "shop/Update manager/Update" {
		t.Errorf("image and replicas are owned by %s", owners)
	}
	m.step("migrate", func() {
		m.migrate(m.applier(apply.Policy{}), ownership.From{Manager: "manager", Paths: emitted}, ownership.From{Manager: "shop", Paths: emitted})
	})
	if owners := m.owners(image) + " " + m.owners(".spec.replicas"); owners != "shop/Apply shop/Apply" {
		t.Errorf("image and replicas are owned by %s", owners)
	}
}

// TestMigratingStatus goes over from the fallback to a status intent.
func TestMigratingStatus(t *testing.T) {
	c := kit.NewClient(t, kit.Server(t))
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: kit.NewNamespace(t, c), Name: "web"}}
	service.Spec.Ports = []corev1.ServicePort{{Port: 80}}
	then := metav1.NewTime(time.Now().Add(-time.Hour).Truncate(time.Second))
	if err := c.Create(t.Context(), service, client.FieldOwner("shop")); err != nil {
		t.Fatal(err)
	}
	updater, err := update.New(update.Config{Client: c, LiveReader: c, FieldManager: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := update.Status(t.Context(), updater, service, func(s *corev1.Service) error {
		for _, name := range []string{"Ready", "Progressing"} {
			meta.SetStatusCondition(&s.Status.Conditions, metav1.Condition{Type: name, Status: "True", Reason: "Up", LastTransitionTime: then})
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	applier := kit.NewApplier(t, c, "shop", apply.Policy{})
	ref := kit.RefOf("v1", "Service", service.Namespace, service.Name)
	// write applies the condition Ready alone, and tells which ones are there then.
	write := func(message string) (apply.Action, []string) {
		t.Helper()
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(service), service); err != nil {
			t.Fatal(err)
		}
		ready := metav1.Condition{Type: "Ready", Status: "True", Reason: "Up", Message: message}
		status := corev1ac.ServiceStatus().WithConditions(apply.Conditions(service.Status.Conditions, metav1.Now(), ready)...)
		outcome, err := applier.Apply(t.Context(), apply.Intent{
			Config: corev1ac.Service(service.Name, service.Namespace).WithStatus(status), Subresource: "status",
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(service), service); err != nil {
			t.Fatal(err)
		}
		var conditions []string
		for _, condition := range service.Status.Conditions {
			conditions = append(conditions, condition.Type+" "+condition.Message)
			if !condition.LastTransitionTime.Equal(&then) {
				t.Errorf("%s changed at %v, and its status is the same since %v", condition.Type, condition.LastTransitionTime, then)
			}
		}
		slices.Sort(conditions)
		return outcome.Action, conditions
	}
	check := func(reason, message string, action apply.Action, want ...string) {
		t.Helper()
		got, conditions := write(message)
		if diff := cmp.Diff(want, conditions); diff != "" || got != action {
			t.Errorf("%s: %s, want %s, conditions (-want +got):\n%s", reason, got, action, diff)
		}
	}
	check("what the fallback wrote stays without Migrate", "", apply.Configured, "Progressing ", "Ready ")
	transfer, err := ownership.Migrate(t.Context(), applier, ref, ownership.From{Manager: "shop", Paths: []string{".status"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := transfer.Do(t.Context()); err != nil {
		t.Fatal(err)
	}
	check("what is not in the intent goes", "", apply.Configured, "Ready ")
	check("the same again", "", apply.Unchanged, "Ready ")
	check("another message is no transition", "well", apply.Configured, "Ready well")
}

// TestMigratingWithoutManagedFields starts from an object whose managed fields were
// wiped.
func TestMigratingWithoutManagedFields(t *testing.T) {
	m := newMigration(t)
	m.old("v1")
	wipe := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"managedFields":[{}]}}`))
	object, _ := liveFields(t, m.c, m.ref)
	m.must(m.c.Patch(t.Context(), object, wipe))

	_, err := m.applier(apply.Policy{}).Apply(t.Context(), apply.Intent{Config: m.emit("v2")})
	if conflict, ok := errors.AsType[*apply.ConflictError](err); !ok || conflict.Conflicts[0].Manager.Name != "before-first-apply" {
		t.Errorf("%v; want a conflict with before-first-apply", err)
	}
	applier := m.applier(apply.OnConflict(apply.Reject).When(apply.Match{Manager: "before-first-apply"}, apply.Force))
	m.step("the rule", m.apply(applier, apply.Intent{Config: m.emit("v2")}), `.spec.template.spec.containers[name="web"].image: "v1" -> "v2"`)
	m.migrate(applier, ownership.From{Manager: "before-first-apply", Paths: []string{".metadata.labels"}})
	m.step("next apply", m.apply(applier, apply.Intent{Config: m.emit("v2")}), `.metadata.labels.tier: removed "front"`)
}

// TestLastFieldOfAContainer is the 422 that custom resources answer when the last
// field goes from a container that an Update manager owns.
func TestLastFieldOfAContainer(t *testing.T) {
	s := kit.NewStage(t, kit.ShapeClient(t), kit.NewNamespace(t, kit.NewClient(t, kit.Server(t))), "Shape", "")
	s.Update("manager", `{spec: {size: 1, free: {a: x}}}`)
	applier := kit.NewApplier(t, s.Client, "shop", apply.Policy{})
	kit.MustApply(t, applier, apply.Intent{Config: s.Config(`{spec: {free: {b: new}}}`)})
	live := s.Live()
	unstructured.RemoveNestedField(live.Object, "spec", "free", "a")
	s.Put("manager", live)
	_, err := applier.Apply(t.Context(), apply.Intent{Config: s.Config(`{spec: {size: 1}}`)})
	if !errors.Is(err, apply.ErrRefused) || !strings.Contains(err.Error(), `must be of type object: "null"`) {
		t.Errorf("%v; want it refused", err)
	}
	_, err = applier.Apply(t.Context(), apply.Intent{Config: s.Config(`{spec: {size: 1, free: {}}}`)})
	if !errors.Is(err, apply.ErrRefused) {
		t.Errorf("%v; an empty container is refused as well", err)
	}
	transfer, err := ownership.Migrate(t.Context(), applier, kit.RefOf("test.coapply.dev/v1", "Shape", s.Namespace, s.Name), ownership.From{Manager: "manager", Paths: []string{".spec.free"}})
	s.Must(err)
	_, err = transfer.Do(t.Context())
	s.Must(err)
	kit.MustApply(t, applier, apply.Intent{Config: s.Config(`{spec: {size: 1}}`)})
	if spec := s.Value(".spec"); !cmp.Equal(spec, map[string]any{"size": int64(1)}) {
		t.Errorf("the spec is %v", spec)
	}
}

// TestListItemsNeedTheirKeys shows what an item without one of its keys is.
func TestListItemsNeedTheirKeys(t *testing.T) {
	m := newMigration(t)
	m.old("v1")
	config := m.emit("v1")
	config.Spec.Template.Spec.Containers[0].Name = nil
	_, err := m.applier(apply.Policy{}).Apply(t.Context(), apply.Intent{Config: config})
	if !errors.Is(err, apply.ErrRefused) || !strings.Contains(err.Error(), "name") {
		t.Errorf("%v; want it refused for want of the key", err)
	}
}
