package fieldowners_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/fieldowners"
)

func entry(manager string, operation metav1.ManagedFieldsOperationType, fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{
		Manager: manager, Operation: operation, APIVersion: "apps/v1",
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields),
	}
}

func TestParse(t *testing.T) {
	older := metav1.NewTime(time.Unix(100, 0))
	newer := metav1.NewTime(time.Unix(200, 0))
	first := entry("kubectl", "Update", `{"f:spec":{"f:replicas":{}}}`)
	first.Subresource, first.Time = "scale", &newer
	second := entry("kubectl", "Update", `{"f:spec":{"f:paused":{}}}`)
	second.Subresource, second.Time = "scale", &older

	ownership, err := fieldowners.Parse([]metav1.ManagedFieldsEntry{
		first, second,
		entry("a", "Apply", `{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":{".":{},"f:image":{}}}}}},`+
			`"f:metadata":{"f:finalizers":{"v:\"x/y\"":{}}}}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for _, e := range ownership.Entries() {
		for _, path := range e.Fields() {
			got[e.Manager.String()] = append(got[e.Manager.String()], path.String())
		}
	}
	want := map[string][]string{
		"a/Apply": {
			`.metadata.finalizers[="x/y"]`,
			`.spec.template.spec.containers[name="web"]`,
			`.spec.template.spec.containers[name="web"].image`,
		},
		"kubectl/Update[scale]": {".spec.paused", ".spec.replicas"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fields by manager (-want +got):\n%s", diff)
	}
	if leaves := ownership.Entries()[0].Leaves(); len(leaves) != 2 {
		t.Errorf("leaves: %v, want the finalizer and the image", leaves)
	}
	owners := ownership.OwnersOf(fieldowners.MustParsePath(".spec.replicas"))
	if len(owners) != 1 || owners[0].Name != "kubectl" || !owners[0].Time.Equal(newer.Time) {
		t.Errorf("owners of replicas: %v, want kubectl at the later time", owners)
	}
}
