package ownership

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/ownership"
	"coapply.dev/test/kit"
)

func patchStatus(t *testing.T, c client.Client, object client.Object, patch, manager string) {
	t.Helper()
	if err := c.Status().Patch(t.Context(), object, client.RawPatch(types.MergePatchType, []byte(patch)), client.FieldOwner(manager)); err != nil {
		t.Fatal(err)
	}
}

// TestMigrateSubresources has a controller that wrote the object, its status and its
// scale by Update: the status goes to an Apply entry of its own, and applying less
// through it lets go there and nowhere else.
func TestMigrateSubresources(t *testing.T) {
	c := kit.NewClient(t, kit.Server(t))
	namespace := kit.NewNamespace(t, c)
	var object appsv1.Deployment
	kit.CreateClientSide(t, c, func() *appsv1ac.DeploymentApplyConfiguration {
		config := kit.WithEnv("a", namespace)
		config.Spec.WithReplicas(2)
		return config
	}(), &object)
	patchStatus(t, c, &object, `{"status":{"replicas":2,"readyReplicas":1}}`, kit.ClientSide)
	kit.ScaleTo(t, c, &object, "3", kit.ClientSide)
	ref := kit.DeploymentRef(namespace, "a")
	before := kit.LiveAt(t, c, ref)
	want := []string{kit.ClientSide + "/Update", kit.ClientSide + "/Update[scale]", kit.ClientSide + "/Update[status]"}
	if diff := cmp.Diff(want, managersIn(t, before)); diff != "" {
		t.Fatalf("before (-want +got):\n%s", diff)
	}

	us := kit.NewApplier(t, c, "us", apply.Policy{})
	transfer, err := ownership.Migrate(t.Context(), us, ref, ownership.From{Manager: kit.ClientSide})
	undo := kit.Transferred(t, transfer, err)
	after := kit.LiveAt(t, c, ref)
	want = []string{kit.ClientSide + "/Update", "us/Apply", "us/Apply[status]"} // the annotation stays
	if diff := cmp.Diff(want, managersIn(t, after)); diff != "" {
		t.Errorf("after (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(kit.WithoutManagedFields(before), kit.WithoutManagedFields(after)); diff != "" {
		t.Errorf("migrating changed values:\n%s", diff)
	}
	if _, err := undo.Do(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(kit.FieldsBy(t, before.GetManagedFields()), kit.FieldsBy(t, kit.LiveAt(t, c, ref).GetManagedFields())); diff != "" {
		t.Errorf("owners (-before +undone):\n%s", diff)
	}
	transfer, err = ownership.Migrate(t.Context(), us, ref, ownership.From{Manager: kit.ClientSide})
	kit.Transferred(t, transfer, err)

	status := appsv1ac.Deployment("a", namespace).WithStatus(appsv1ac.DeploymentStatus().WithReplicas(2))
	if _, err := us.Apply(t.Context(), apply.Intent{Config: status, Subresource: "status"}); err != nil {
		t.Fatal(err)
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(&object), &object); err != nil {
		t.Fatal(err)
	}
	if object.Status.ReadyReplicas != 0 || object.Status.Replicas != 2 || *object.Spec.Replicas != 3 || object.Labels["team"] != "shop" {
		t.Errorf("status %+v, replicas %d, labels %v", object.Status, *object.Spec.Replicas, object.Labels)
	}
}

// TestTransferAfterScale starts from two entries of one identity, which a write to
// /scale leaves: of those that it is sent the server keeps the last only, so that
// the next plain write leaves fields without an owner. A transfer loses none.
func TestTransferAfterScale(t *testing.T) {
	c := kit.NewClient(t, kit.Server(t))
	namespace := kit.NewNamespace(t, c)
	us := kit.NewApplier(t, c, "us", apply.Policy{})
	for name, write := range map[string]func(*testing.T, apply.ObjectRef){
		"of-the-source": func(t *testing.T, ref apply.ObjectRef) {
			transfer, err := ownership.Migrate(t.Context(), us, ref, ownership.From{Manager: kit.ClientSide})
			kit.Transferred(t, transfer, err)
		},
		"of-another": func(t *testing.T, ref apply.ObjectRef) {
			transfer, err := ownership.Rename(t.Context(), us, ref, ownership.From{Manager: "labels"})
			kit.Transferred(t, transfer, err)
		},
		"plain-write": func(t *testing.T, ref apply.ObjectRef) {
			object := kit.LiveAt(t, c, ref)
			patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"x":"2"}}}`))
			if err := c.Patch(t.Context(), object, patch, client.FieldOwner("someone")); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			ref := kit.DeploymentRef(namespace, name)
			var object appsv1.Deployment
			config := kit.WithEnv(name, namespace)
			config.Spec.WithReplicas(2)
			kit.CreateClientSide(t, c, config, &object)
			label := appsv1ac.Deployment(name, namespace).WithLabels(map[string]string{"y": "1"})
			if err := c.Apply(t.Context(), label, client.FieldOwner("labels")); err != nil {
				t.Fatal(err)
			}
			kit.ScaleTo(t, c, &object, "2", "nobody") // no other value: the owner of the replicas stays, in an entry apart
			live := kit.LiveAt(t, c, ref)
			if entries, identities := len(live.GetManagedFields()), len(managersIn(t, live)); entries != 3 || identities != 2 {
				t.Fatalf("%d entries of %d identities, want 3 of 2", entries, identities)
			}
			write(t, ref)
			lost := ownerless(kit.FieldsBy(t, live.GetManagedFields()), kit.FieldsBy(t, kit.LiveAt(t, c, ref).GetManagedFields()))
			if plain := name == "plain-write"; plain != (len(lost) > 0) {
				t.Errorf("without an owner now: %q", lost)
			}
		})
	}
}

// ownerless lists the fields that had an owner and have none.
func ownerless(before, after []string) (lost []string) {
	for _, line := range before {
		path := line[:strings.LastIndex(line[:strings.LastIndex(line, " ")], " ")]
		if !slices.ContainsFunc(after, func(l string) bool { return strings.HasPrefix(l, path+" ") }) {
			lost = append(lost, path)
		}
	}
	return lost
}
