package workloads

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"coapply.dev/compare"
)

// The intents of the systems, each with an object as others left it: all ways come to what is wanted, and keep the rest.
func TestSystemsIntentsComeToWhatTheyWant(t *testing.T) {
	stage := stageOf(compare.Parameters{Writers: 3, Objects: 2, Managers: 3, Rounds: 9})
	annotated := map[string]any{"metadata": map[string]any{"annotations": map[string]any{
		ownAnnotation(1): "old", ownAnnotation(7): "old", maintenanceID: "1", maintenanceState: "1", "other": "x",
	}}, "spec": map[string]any{"unschedulable": true}}
	for name, test := range map[string]struct {
		run    compare.Run
		intent compare.Intent
	}{
		"user-namespace":       {&namespaces{ofKind: ofKind{stage: stage}, gate: newGate(3)}, nextOf(t, &namespaces{ofKind: ofKind{stage: stage}, gate: newGate(3)}, 1, 2)},
		"node-uncordon":        {&uncordon{ofKind: ofKind{stage: stage}}, (&uncordon{ofKind: ofKind{stage: stage}, nodes: []string{"trial-node-00"}}).intent(1, 2)},
		"nodeset-scale":        {&nodesets{ofKind: ofKind{stage: stage}}, (&nodesets{ofKind: ofKind{stage: stage}}).pod(1, 2, 3)},
		"slurm-service":        {newSlurm(stage), nextOf(t, newSlurm(stage), 1, 2)},
		"slurm-service, owner": {newSlurm(stage), nextOf(t, newSlurm(stage), 0, 2)},
	} {
		t.Run(name, func(t *testing.T) { checkWays(t, test.run, test.intent, annotated) })
	}
}

func checkWays(t *testing.T, run compare.Run, intent compare.Intent, before map[string]any) {
	t.Helper()
	want := map[string]string{} // without those that are to be absent
	for field, value := range intent.Wants {
		if value != "" {
			want[field] = value
		}
	}
	modified := (&unstructured.Unstructured{Object: before}).DeepCopy()
	modified.SetName(intent.Name)
	for range 2 {
		if err := intent.Modify(modified); err != nil {
			t.Fatal(err)
		}
	}
	fields := run.Fields(modified)
	for field, value := range intent.Wants {
		if fields[field] != value {
			t.Errorf("Modify: %s is %q, want %q", field, fields[field], value)
		}
	}
	if modified.GetAnnotations()["other"] != "x" {
		t.Error("Modify drops what others wrote")
	}
	applied := unstructured.Unstructured{Object: intent.Configure(nil)}
	if applied.Object["metadata"] == nil {
		applied.Object["metadata"] = map[string]any{}
	}
	applied.SetName(intent.Name)
	if diff := cmp.Diff(want, run.Fields(&applied)); diff != "" {
		t.Errorf("Configure (-want +got):\n%s", diff)
	}
	if intent.Replace == nil {
		return
	}
	replaced := (&unstructured.Unstructured{Object: before}).DeepCopy()
	replaced.SetName(intent.Name)
	if err := intent.Replace(replaced); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, run.Fields(replaced)); diff != "" || replaced.GetAnnotations()["other"] != "" {
		t.Errorf("Replace (-want +got), which drops what others wrote:\n%s", diff)
	}
}

func TestSystemsLeaveOtherTrialsAlone(t *testing.T) {
	stage := stageOf(compare.Parameters{Writers: 1})
	for name, run := range map[string]compare.Run{
		"trial1-user-0": &namespaces{ofKind: ofKind{stage: stage}}, "trial1-node-00": &uncordon{ofKind: ofKind{stage: stage}}, "trial1-grow-0-0": &nodesets{ofKind: ofKind{stage: stage}},
		"trial1-0": newSlurm(stage),
	} {
		o := &unstructured.Unstructured{Object: map[string]any{}}
		o.SetName(name)
		o.SetLabels(map[string]string{compare.NodeSetLabel: "trial1-grow-0"})
		if fields := run.Fields(o); fields != nil {
			t.Errorf("%T tracks %v of %s", run, fields, name)
		}
	}
}
