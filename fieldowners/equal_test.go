package fieldowners_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/fieldowners"
)

func timed(seconds int64, e metav1.ManagedFieldsEntry) metav1.ManagedFieldsEntry {
	e.Time = &metav1.Time{Time: time.Unix(seconds, 0)}
	return e
}

func versioned(subresource, apiVersion string, e metav1.ManagedFieldsEntry) metav1.ManagedFieldsEntry {
	e.Subresource, e.APIVersion = subresource, apiVersion
	return e
}

func TestEqual(t *testing.T) {
	base := timed(1, entry("a", "Apply", `{"f:x":{}}`))
	if !ownership(t, base).Equal(ownership(t, timed(1, entry("a", "Apply", ` { "f:x" : {".":{}} } `)))) {
		t.Error("the same fields in another spelling are not equal")
	}
	for reason, other := range map[string]metav1.ManagedFieldsEntry{
		"another manager":     timed(1, entry("b", "Apply", `{"f:x":{}}`)),
		"another operation":   timed(1, entry("a", "Update", `{"f:x":{}}`)),
		"another subresource": versioned("status", "apps/v1", base),
		"another version":     versioned("", "apps/v2", base),
		"another time":        timed(2, base),
		"another field":       timed(1, entry("a", "Apply", `{"f:y":{}}`)),
		"a field more":        timed(1, entry("a", "Apply", `{"f:x":{".":{},"f:y":{}}}`)),
	} {
		if ownership(t, base).Equal(ownership(t, other)) {
			t.Errorf("%s: equal", reason)
		}
	}
	if (fieldowners.Ownership{}).Equal(ownership(t, base)) || !(fieldowners.Ownership{}).Equal(fieldowners.Ownership{}) {
		t.Error("nothing is equal to nothing only")
	}
}
