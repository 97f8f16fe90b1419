package contention

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// entry is one of managed fields; who is name/operation/subresource.
func entry(name string, operation metav1.ManagedFieldsOperationType, subresource string, second int64, fields string) metav1.ManagedFieldsEntry {
	e := metav1.ManagedFieldsEntry{
		Manager: name, Operation: operation, Subresource: subresource, APIVersion: "apps/v1",
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields),
	}
	if second > 0 {
		e.Time = &metav1.Time{Time: time.Unix(second, 0)}
	}
	return e
}

const (
	replicas = `{"f:spec":{"f:replicas":{}}}`
	paused   = `{"f:spec":{"f:paused":{}}}`
	both     = `{"f:spec":{"f:paused":{},"f:replicas":{}}}`
	ready    = `{"f:status":{"f:phase":{}}}`
	broken   = `{"f:spec":`

	byApply  = metav1.ManagedFieldsOperationApply
	byUpdate = metav1.ManagedFieldsOperationUpdate
)

func TestBetween(t *testing.T) {
	beta := func(e metav1.ManagedFieldsEntry) metav1.ManagedFieldsEntry { e.APIVersion = "apps/v1beta1"; return e }
	bare := func(second int64) metav1.ManagedFieldsEntry {
		e := entry("a", byApply, "", second, "")
		e.FieldsV1 = nil
		return e
	}
	for _, test := range []struct {
		reason        string
		before, after entries
		fields        string // of the difference
		writers       []string
	}{
		{"nothing", entries{entry("a", byApply, "", 1, replicas)}, entries{entry("a", byApply, "", 1, replicas)}, "", nil},
		{"a heartbeat: the fields are not read",
			entries{entry("kubelet", byUpdate, "status", 1, broken), entry("a", byApply, "", 1, broken)},
			entries{entry("a", byApply, "", 1, broken), entry("kubelet", byUpdate, "status", 2, broken)},
			"", []string{"kubelet/Update[status]"}},
		{"one takes from another, who keeps the time",
			entries{entry("a", byApply, "", 1, both), entry("b", byUpdate, "", 1, ready)},
			entries{entry("a", byApply, "", 1, paused), entry("b", byUpdate, "", 2, replicas)},
			".spec.replicas: a/Apply -> b/Update\n.status.phase: lost by b/Update", []string{"b/Update"}},
		{"within one second: who gained wrote",
			entries{entry("a", byApply, "", 1, both)},
			entries{entry("a", byApply, "", 1, paused), entry("b", byUpdate, "scale", 0, replicas)},
			".spec.replicas: a/Apply -> b/Update[scale]", []string{"b/Update[scale]"}},
		{"within one second a field more", entries{entry("a", byApply, "", 1, paused)}, entries{entry("a", byApply, "", 1, both)},
			".spec.replicas: gained by a/Apply", []string{"a/Apply"}},
		{"two of one name: the operation tells them apart",
			entries{entry("a", byApply, "", 1, replicas), entry("a", byUpdate, "", 1, paused)},
			entries{entry("a", byApply, "", 1, replicas), entry("a", byUpdate, "", 2, paused)}, "", []string{"a/Update"}},
		{"two of one name: the subresource tells them apart",
			entries{entry("a", byUpdate, "", 1, replicas), entry("a", byUpdate, "status", 1, ready)},
			entries{entry("a", byUpdate, "", 1, replicas), entry("a", byUpdate, "status", 2, ready)}, "", []string{"a/Update[status]"}},
		{"the writer's other entry is older",
			entries{entry("a", byUpdate, "", 3, replicas), beta(entry("a", byUpdate, "", 1, paused))},
			entries{entry("a", byUpdate, "", 4, replicas), beta(entry("a", byUpdate, "", 1, paused))}, "", []string{"a/Update"}},
		{"that, and it comes first",
			entries{beta(entry("a", byUpdate, "", 1, paused)), entry("a", byUpdate, "", 3, replicas)},
			entries{beta(entry("a", byUpdate, "", 1, paused)), entry("a", byUpdate, "", 4, replicas)}, "", []string{"a/Update"}},
		{"no fields at all", entries{bare(1)}, entries{bare(2)}, "", []string{"a/Apply"}},
		{"an entry goes with its last field",
			entries{entry("b", byUpdate, "scale", 1, replicas)}, entries{entry("a", byApply, "", 2, replicas)},
			".spec.replicas: b/Update[scale] -> a/Apply", []string{"a/Apply"}},
		{"the last entry goes", entries{entry("a", byApply, "", 1, replicas)}, nil, ".spec.replicas: lost by a/Apply", nil},
		{"a field goes to the manager's entry of another version: nobody gained it",
			entries{entry("a", byUpdate, "", 1, paused), beta(entry("a", byUpdate, "", 1, replicas))},
			entries{entry("a", byUpdate, "", 2, both)}, "", []string{"a/Update"}},
		{"two entries of one name, as after writes to /scale",
			entries{entry("a", byUpdate, "scale", 1, replicas), entry("a", byUpdate, "scale", 1, paused)},
			entries{entry("a", byUpdate, "scale", 1, replicas)}, ".spec.paused: lost by a/Update[scale]", nil},
		{"several writes seen as one",
			entries{entry("a", byApply, "", 1, replicas), entry("b", byApply, "", 1, paused)},
			entries{entry("a", byApply, "", 3, replicas), entry("b", byApply, "", 2, paused)}, "", []string{"a/Apply", "b/Apply"}},
	} {
		change, err := Between(test.before, test.after)
		if err != nil {
			t.Errorf("%s: %v", test.reason, err)
			continue
		}
		var writers []string
		for _, m := range change.Writers {
			writers = append(writers, m.String())
		}
		if change.Fields.String() != test.fields || !slices.Equal(writers, test.writers) {
			t.Errorf("%s: %v by %v", test.reason, change.Fields, writers)
		}
		if change.IsEmpty() != (test.fields == "" && test.writers == nil) {
			t.Errorf("%s: empty: %v", test.reason, change.IsEmpty())
		}
	}
}

func TestBetweenRefuses(t *testing.T) {
	good, bad := entries{entry("a", byApply, "", 1, replicas)}, entries{entry("a", byApply, "", 1, broken)}
	bare := entries{{Manager: "a", Operation: byApply, APIVersion: "apps/v1", FieldsType: "FieldsV1"}}
	for _, pair := range [][2]entries{{good, bad}, {bad, good}, {good, bare}, {bare, good}} {
		if change, err := Between(pair[0], pair[1]); err == nil || !change.IsEmpty() {
			t.Errorf("%v, %v: want an error and nothing else", change, err)
		}
	}
}

// BenchmarkBetween is what each write to a watched object costs.
func BenchmarkBetween(b *testing.B) {
	pod := func(second int64) entries {
		return entries{
			entry("coapply-nodeset", byApply, "", 1, `{"f:metadata":{"f:labels":{"f:a":{},"f:b":{},"f:c":{}},"f:ownerReferences":{"k:{\"uid\":\"00000000-0000-0000-0000-000000000000\"}":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"slurmd\"}":{".":{},"f:image":{},"f:name":{},"f:resources":{}}}}}`),
			entry("kubelet", byUpdate, "status", second, `{"f:status":{"f:conditions":{"k:{\"type\":\"ContainersReady\"}":{".":{},"f:lastProbeTime":{},"f:lastTransitionTime":{},"f:status":{},"f:type":{}},"k:{\"type\":\"Ready\"}":{".":{},"f:lastProbeTime":{},"f:lastTransitionTime":{},"f:status":{},"f:type":{}}},"f:containerStatuses":{},"f:phase":{},"f:podIP":{},"f:startTime":{}}}`),
		}
	}
	taken := pod(2)
	taken[1].FieldsV1 = metav1.NewFieldsV1(`{"f:status":{"f:phase":{}}}`)
	for name, after := range map[string]entries{"heartbeat": pod(2), "fields": taken} {
		b.Run(name, func(b *testing.B) {
			before := pod(1)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Between(before, after); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
