package nodemaintenance

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/fieldowners"
	"coapply.dev/platform/api/v1alpha1"
)

const ours = "coapply-node-maintenance/Apply"

// ownedNode has spec.unschedulable and the annotations that are named, each with
// its owners as NAME/OPERATION.
func ownedNode(marks map[string][]string) *corev1.Node {
	node := someNode()
	fields := map[string][]string{}
	for name, owners := range marks {
		field := `"f:spec":{"f:unschedulable":{}}`
		if name == "" {
			node.Spec.Unschedulable = true
		} else {
			metav1.SetMetaDataAnnotation(&node.ObjectMeta, name, "kernel")
			field = fmt.Sprintf(`"f:metadata":{"f:annotations":{"f:%s":{}}}`, name)
		}
		for _, owner := range owners {
			fields[owner] = append(fields[owner], field)
		}
	}
	for owner, each := range fields {
		name, operation, _ := strings.Cut(owner, "/")
		for _, field := range each { // entries of one owner are merged by the reader
			node.ManagedFields = append(node.ManagedFields, metav1.ManagedFieldsEntry{
				Manager: name, Operation: metav1.ManagedFieldsOperationType(operation), APIVersion: "v1",
				FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1("{" + field + "}"),
			})
		}
	}
	return node
}

// TestMarks tells what an Uncordon may remove of a node, and who keeps the rest.
func TestMarks(t *testing.T) {
	const kubectl, fallback = "kubectl/Update", "coapply-node-maintenance/Update"
	for _, test := range []struct {
		reason string
		marks  map[string][]string
		force  bool
		free   int    // marks that it may take
		kept   string // of the error
	}{
		{"nothing", nil, false, 0, ""},
		{"ours alone", map[string][]string{"": {ours}, Annotation: {ours}}, false, 2, ""},
		{"ours, by strategy Update", map[string][]string{"": {fallback}, ReasonAnnotation: {fallback}}, false, 2, ""},
		{"nobody's", map[string][]string{"": nil}, false, 1, ""},
		{"cordoned by another", map[string][]string{"": {kubectl}}, false, 0,
			"ownership conflict on Node node-1: coapply-node-maintenance cannot set .spec.unschedulable to false: owned by kubectl/Update"},
		{"cordoned by another as well", map[string][]string{"": {ours, kubectl}, Annotation: {ours}}, false, 1,
			"ownership conflict on Node node-1: coapply-node-maintenance cannot set .spec.unschedulable to false: owned by kubectl/Update"},
		{"cordoned by another, under force", map[string][]string{"": {kubectl}}, true, 1, ""},
		{"an annotation of another, under force", map[string][]string{"": {kubectl}, Annotation: {ours, "a/Apply", "b/Update"}}, true, 1,
			`ownership conflict on Node node-1: coapply-node-maintenance cannot remove .metadata.annotations["platform.coapply.dev/maintenance"]: owned by a/Apply, b/Update`},
	} {
		marks, err := marksOf(ownedNode(test.marks))
		if err != nil {
			t.Fatal(err)
		}
		free := 0
		for _, m := range marks {
			if m.mayTake(test.force) {
				free++
			}
		}
		if len(marks) != len(test.marks) || free != test.free {
			t.Errorf("%s: %d marks, %d to take, want %d and %d", test.reason, len(marks), free, len(test.marks), test.free)
		}
		err = held("node-1", marks, test.force)
		switch {
		case mayPass(err) != (test.kept == ""):
			t.Errorf("%s: to be tried again: %v", test.reason, mayPass(err))
		case test.kept != "" && err.Error() != test.kept:
			t.Errorf("%s:\n got %v\nwant %s", test.reason, err, test.kept)
		}
	}
}

// TestMarkThatIsFalse: it is given up as well.
func TestMarkThatIsFalse(t *testing.T) {
	for owner, want := range map[string]int{ours: 1, "kubectl/Update": 0} {
		node := ownedNode(map[string][]string{"": {owner}})
		node.Spec.Unschedulable = false
		if marks, err := marksOf(node); err != nil || len(marks) != want {
			t.Errorf("of %s: %v, %v", owner, marks, err)
		}
	}
}

func TestMarksOfBrokenManagedFields(t *testing.T) {
	node := ownedNode(map[string][]string{"": {ours}})
	node.ManagedFields[0].FieldsV1.SetRawString("{")
	_, err := marksOf(node)
	if _, ok := errors.AsType[*fieldowners.EntryError](err); !ok || !strings.Contains(err.Error(), "managed fields of node node-1") {
		t.Errorf("%v, want what is wrong with the managed fields of which node", err)
	}
}

// TestWanted: a cordon is as it should be when it says why and is ours to give up.
func TestWanted(t *testing.T) {
	full := map[string][]string{"": {ours, "other/Update"}, Annotation: {ours}, ReasonAnnotation: {ours}}
	for _, test := range []struct {
		reason string
		marks  map[string][]string
		work   *v1alpha1.NodeMaintenance
		want   bool
	}{
		{"as it should be", full, someWork(v1alpha1.Cordon, "kernel"), true},
		{"another reason", full, someWork(v1alpha1.Cordon, "disk"), false},
		{"no reason any more", full, someWork(v1alpha1.Cordon, ""), false},
		{"no reason", map[string][]string{"": {ours}, Annotation: {ours}}, someWork(v1alpha1.Cordon, ""), true},
		{"cordoned by another", map[string][]string{"": {"kubectl/Update"}}, someWork(v1alpha1.Cordon, ""), false},
		{"not ours to give up", map[string][]string{"": {"other/Update"}, Annotation: {ours}}, someWork(v1alpha1.Cordon, ""), false},
		{"not cordoned any more", map[string][]string{Annotation: {ours}}, someWork(v1alpha1.Cordon, ""), false},
	} {
		node := ownedNode(test.marks)
		marks, err := marksOf(node)
		if err != nil {
			t.Fatal(err)
		}
		if got := wanted(node, marks, test.work); got != test.want {
			t.Errorf("%s: %v", test.reason, got)
		}
	}
}
