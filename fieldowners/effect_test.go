package fieldowners_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/fieldowners"
)

func TestDroppedString(t *testing.T) {
	path := fieldowners.MustParsePath(".spec.replicas")
	hpa := fieldowners.Manager{Name: "hpa", Operation: metav1.ManagedFieldsOperationUpdate, Subresource: "scale"}
	for reason, test := range map[string]struct {
		dropped fieldowners.Dropped
		want    string
	}{
		"goes":       {fieldowners.Dropped{Change: fieldowners.Change{Path: path, Before: int64(3), Existed: true}}, ".spec.replicas: removed, with its value 3"},
		"stays":      {fieldowners.Dropped{Change: fieldowners.Change{Path: path}, Stays: true, Owners: []fieldowners.Manager{hpa}}, ".spec.replicas: stays, owned by hpa/Update[scale]"},
		"is changed": {fieldowners.Dropped{Change: fieldowners.Change{Path: path, Before: int64(3), After: int64(1), Existed: true, Exists: true}}, ".spec.replicas: 3 -> 1, owned by nobody"},
	} {
		if got := test.dropped.String(); got != test.want {
			t.Errorf("%s: %q, want %q", reason, got, test.want)
		}
	}
}
