package fieldowners_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/fieldowners"
)

// TestDescribed holds how differences are written, and when they are empty.
func TestDescribed(t *testing.T) {
	replicas := fieldowners.MustParsePath(".spec.replicas")
	a, hpa := fieldowners.Manager{Name: "a", Operation: "Apply"}, fieldowners.Manager{Name: "hpa", Operation: "Update", Subresource: "scale"}
	owned, moved := fieldowners.Owned{Path: replicas, Manager: hpa}, fieldowners.Moved{Path: replicas, From: a, To: hpa}
	if got := owned.String(); got != ".spec.replicas of hpa/Update[scale]" {
		t.Error(got)
	}
	if got := moved.String(); got != ".spec.replicas: a/Apply -> hpa/Update[scale]" {
		t.Error(got)
	}
	for _, d := range []fieldowners.Difference{
		{Gained: []fieldowners.Owned{owned}, Moved: []fieldowners.Moved{moved}}, {Lost: []fieldowners.Owned{owned}, Gained: []fieldowners.Owned{owned}},
		{Lost: []fieldowners.Owned{owned}}, {Gained: []fieldowners.Owned{owned}}, {Moved: []fieldowners.Moved{moved}},
	} {
		if d.IsEmpty() {
			t.Errorf("%v is empty", d)
		}
	}
}

func TestWritesAround(t *testing.T) {
	replicas := fieldowners.MustParsePath(".spec.replicas")
	for subresource, want := range map[string]bool{"": false, "status": false, "scale": true} {
		if got := (fieldowners.Manager{Subresource: subresource}).WritesAround(replicas); got != want {
			t.Errorf("%q: %t", subresource, got)
		}
	}
	if (fieldowners.Manager{Subresource: "scale"}).WritesAround(fieldowners.MustParsePath(".status.replicas")) {
		t.Error("an apply of the object sets no status")
	}
}

// TestVersionsOfOneManager: entries in several versions are one manager's, whose last write counts.
func TestVersionsOfOneManager(t *testing.T) {
	in := func(version, fields string, second int64) metav1.ManagedFieldsEntry {
		e := entry("m", "Update", fields)
		e.APIVersion, e.Time = version, &metav1.Time{Time: time.Unix(second, 0)}
		return e
	}
	const a, b, both = `{"f:a":{}}`, `{"f:b":{}}`, `{"f:a":{},"f:b":{}}`
	if d := fieldowners.Diff(ownership(t, in("v1", a, 1), in("v2", b, 2)), ownership(t, in("v2", both, 3))); !d.IsEmpty() {
		t.Errorf("one entry instead of two: %v", d)
	}
	for last, entries := range map[string][]metav1.ManagedFieldsEntry{
		"v1": {in("v1", a, 2), in("v2", b, 1)},
		"v2": {in("v1", a, 1), in("v2", b, 2)},
	} {
		for _, gained := range fieldowners.Diff(fieldowners.Ownership{}, ownership(t, entries...)).Gained {
			if gained.Manager.APIVersion != last {
				t.Errorf("%s is gained by %+v, who wrote in %s last", gained.Path, gained.Manager, last)
			}
		}
	}
}
