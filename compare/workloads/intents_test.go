package workloads

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"coapply.dev/compare"
	"coapply.dev/platform/api/v1alpha1"
)

func stageOf(p compare.Parameters) compare.Stage {
	return compare.Stage{Namespace: "space", Prefix: "trial", Parameters: p}
}

func devboxesOf(stage compare.Stage) devboxes {
	return devboxes{newObjects(stage, v1alpha1.SchemeGroupVersion.WithKind("Devbox"), "devboxes")}
}

// plain are the runs that need no preparing to give intents, each with an object as others left it.
var plain = []struct {
	workload compare.Workload
	run      func(compare.Stage) compare.Run
	before   map[string]any
	repeats  bool // values are not unique, as the workload says
}{
	{workload: hotObject(), run: func(s compare.Stage) compare.Run { return hot{newConfigMaps(s)} }, before: dataBefore},
	{workload: tenReconcilers(), run: func(s compare.Stage) compare.Run {
		return &ten{newConfigMaps(s), newGate(s.Writers)}
	}, before: dataBefore},
	{workload: devboxStatus(), run: func(s compare.Stage) compare.Run { return devboxesOf(s) }, before: map[string]any{
		"status": map[string]any{"phase": "Pending", "contentID": "x", "conditions": []any{}},
	}},
	{workload: licenseFinalizer(), run: func(s compare.Stage) compare.Run { return license{newConfigMaps(s)} }, before: map[string]any{
		"metadata": map[string]any{"finalizers": []any{"example.com/other", domain + "m1-old", domain + "m3-old", domain + "m10-old"}},
	}, repeats: true},
	{workload: increment(), run: func(s compare.Stage) compare.Run { return counters{newConfigMaps(s)} }, before: dataBefore, repeats: true},
	{workload: steadyState(), run: func(s compare.Stage) compare.Run { return steady{newConfigMaps(s)} }, before: dataBefore, repeats: true},
}

var dataBefore = map[string]any{"data": map[string]any{"m1": "old", "m9": "old", counterKey: "41"}}

// wanted are the fields that an intent comes to on an object; a counter of 41 is part of all of them.
func wanted(intent compare.Intent) map[string]string {
	fields := map[string]string{}
	maps.Copy(fields, intent.Wants)
	if intent.Increments != "" {
		fields[intent.Increments] = "42"
	}
	return fields
}

func TestIntentsComeToWhatTheyWant(t *testing.T) {
	for _, test := range plain {
		t.Run(test.workload.Name, func(t *testing.T) {
			stage := stageOf(test.workload.Defaults)
			stage.Objects = 2
			run := test.run(stage)
			for writer := range stage.Writers {
				for sequence := range 4 {
					checkIntent(t, stage, run, nextOf(t, run, writer, sequence), test.before)
				}
			}
		})
	}
}

func nextOf(t *testing.T, run compare.Run, writer, sequence int) compare.Intent {
	t.Helper()
	intent, more, err := run.Next(t.Context(), writer, sequence)
	if err != nil || !more {
		t.Fatalf("writer %d has no intent %d: %v", writer, sequence, err)
	}
	if intent.Writer != writer || intent.Sequence != sequence {
		t.Errorf("intent %d of writer %d says %d of %d", sequence, writer, intent.Sequence, intent.Writer)
	}
	return intent
}

func checkIntent(t *testing.T, stage compare.Stage, run compare.Run, intent compare.Intent, before map[string]any) {
	t.Helper()
	live := func() *unstructured.Unstructured {
		object := (&unstructured.Unstructured{Object: before}).DeepCopy()
		object.SetName(intent.Name)
		return object
	}
	want := wanted(intent)

	modified := live()
	kept := run.Fields(modified)
	maps.Copy(kept, want)
	for range 2 { // an increment is the one that is not the same when it is repeated on the same object
		if err := intent.Modify(modified); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(kept, run.Fields(modified)); diff != "" {
			t.Fatalf("Modify (-want +got):\n%s", diff)
		}
		if intent.Increments != "" {
			break
		}
	}

	var read *unstructured.Unstructured
	if intent.ReadsLive {
		read = live()
	}
	for range 2 { // what an arm does to one configuration is not in the next
		configuration := intent.Configure(read)
		applied := build(stage, compare.Kind{GroupVersionKind: intent.Kind}, intent.Name, configuration)
		if diff := cmp.Diff(want, run.Fields(applied)); diff != "" {
			t.Fatalf("Configure (-want +got):\n%s", diff)
		}
		clear(configuration)
	}

	if intent.Replace == nil {
		return
	}
	replaced := live()
	if err := intent.Replace(replaced); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, run.Fields(replaced)); diff != "" {
		t.Fatalf("Replace (-want +got):\n%s", diff)
	}
}

func TestValuesAreUnique(t *testing.T) {
	for _, test := range plain {
		if test.repeats {
			continue
		}
		stage := stageOf(test.workload.Defaults)
		stage.Writers *= 2 // two to a manager
		run, seen := test.run(stage), map[string]bool{}
		for writer := range stage.Writers {
			for sequence := range 20 {
				for field, value := range nextOf(t, run, writer, sequence).Wants {
					if seen[value] {
						t.Errorf("%s: intent %d of writer %d wants %s to be %s, as another did", test.workload.Name, sequence, writer, field, value)
					}
					seen[value] = true
				}
			}
		}
	}
}

func TestObjectsOfOthersAreNotTracked(t *testing.T) {
	for _, test := range plain {
		run := test.run(stageOf(test.workload.Defaults))
		object := &unstructured.Unstructured{Object: map[string]any{"data": map[string]any{"m1": "v"}}}
		object.SetName("trial1-0") // of a trial whose prefix begins with ours
		if fields := run.Fields(object); fields != nil {
			t.Errorf("%s tracks %v of another trial's object", test.workload.Name, fields)
		}
	}
}
