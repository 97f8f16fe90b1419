package compare

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/compare"
	"coapply.dev/compare/workloads"
	"coapply.dev/test/kit"
)

// TestWorkloadsOnTheServer prepares each workload that needs no controllers, writes its first intents in each of the
// ways that an intent has, and cleans up.
func TestWorkloadsOnTheServer(t *testing.T) {
	t.Parallel()
	config := kit.Server(t)
	c := kit.NewClient(t, config)
	namespace := kit.NewNamespace(t, c)
	catalogue := compare.Catalogue{Workloads: workloads.All()}
	for _, name := range []string{
		"hot-object", "ten-reconcilers", "devbox-status", "license-finalizer", "steady-state", "increment", "hot-object-2kb", "hot-deployment",
	} {
		workload, found := catalogue.Workload(name)
		if !found {
			t.Fatalf("there is no workload %s", name)
		}
		t.Run(name, func(t *testing.T) {
			stage := compare.Stage{
				Admin: c, Namespace: namespace, Prefix: "t-" + name, Parameters: workload.Defaults,
				Note: func(compare.Intent) {},
			}
			stage.Objects, stage.Namespace = 2, "absent"
			if run, err := workload.Prepare(t.Context(), stage); err == nil || run == nil || run.Clean(t.Context()) != nil {
				t.Errorf("in a namespace that does not exist: %v", err)
			}
			stage.Namespace = namespace
			run, err := workload.Prepare(t.Context(), stage)
			if err != nil {
				t.Fatal(err)
			}
			kind := run.Kinds()[0]
			checkPrepared(t, c, run, stage)
			for writer := range 2 {
				writeEachWay(t, c, run, writer)
			}
			if _, err := run.Finish(t.Context()); err != nil {
				t.Error(err)
			}
			for range 2 { // what is clean is cleaned again without an error
				if err := run.Clean(t.Context()); err != nil {
					t.Error(err)
				}
			}
			if left := objectsOf(t, c, kind, stage); len(left) > 0 {
				t.Errorf("%d objects are left, the first %s", len(left), left[0].GetName())
			}
		})
	}
}

func objectsOf(t *testing.T, c client.Client, kind compare.Kind, stage compare.Stage) []unstructured.Unstructured {
	t.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersionKind)
	if err := c.List(t.Context(), list, client.InNamespace(stage.Namespace)); err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(list.Items, func(o unstructured.Unstructured) bool { return !strings.HasPrefix(o.GetName(), stage.Prefix) })
}

// checkPrepared wants every writer to own all that it will write, so that its first apply is no migration and drops
// nothing.
func checkPrepared(t *testing.T, c client.Client, run compare.Run, stage compare.Stage) {
	t.Helper()
	prepared := objectsOf(t, c, run.Kinds()[0], stage)
	if len(prepared) != stage.Objects {
		t.Fatalf("%d objects were prepared, want %d", len(prepared), stage.Objects)
	}
	for writer := range stage.Writers {
		intent := nextIntent(t, run, writer, 0)
		fields := run.Fields(&prepared[0])
		for field := range intent.Wants {
			if fields[field] == "" {
				t.Errorf("%s does not stand from the start, in %v", field, fields)
			}
		}
		for _, entry := range prepared[0].GetManagedFields() {
			if entry.Operation != "Apply" && entry.Manager != "compare-prepare" {
				t.Errorf("%s has fields by %s", entry.Manager, entry.Operation)
			}
		}
	}
}

func nextIntent(t *testing.T, run compare.Run, writer, sequence int) compare.Intent {
	t.Helper()
	intent, more, err := run.Next(t.Context(), writer, sequence)
	if err != nil || !more {
		t.Fatalf("writer %d has no intent %d: %v", writer, sequence, err)
	}
	return intent
}

// writeEachWay writes the writer's first intents: by Server-Side Apply, by get-modify-update, and replaced as a whole.
func writeEachWay(t *testing.T, c client.Client, run compare.Run, writer int) {
	t.Helper()
	ways := []func(live *unstructured.Unstructured, intent compare.Intent) error{
		func(live *unstructured.Unstructured, intent compare.Intent) error {
			return applyIntent(t, c, live, intent)
		},
		func(live *unstructured.Unstructured, intent compare.Intent) error {
			return putIntent(t, c, live, intent, intent.Modify)
		},
		func(live *unstructured.Unstructured, intent compare.Intent) error {
			return putIntent(t, c, live, intent, intent.Replace)
		},
	}
	for sequence, write := range ways {
		intent := nextIntent(t, run, writer, sequence)
		if sequence == 2 && intent.Replace == nil {
			continue
		}
		live := liveOf(t, c, intent)
		want := map[string]string{}
		if sequence < 2 {
			want = run.Fields(live)
		}
		maps.Copy(want, intent.Wants)
		if intent.Increments != "" {
			counter, err := strconv.Atoi(run.Fields(live)[intent.Increments])
			if err != nil {
				t.Fatal(err)
			}
			want[intent.Increments] = strconv.Itoa(counter + 1)
		}
		if err := write(live, intent); err != nil {
			t.Fatalf("writer %d, way %d: %v", writer, sequence, err)
		}
		if diff := cmp.Diff(want, run.Fields(liveOf(t, c, intent))); diff != "" {
			t.Errorf("writer %d, way %d (-want +got):\n%s", writer, sequence, diff)
		}
	}
}

func liveOf(t *testing.T, c client.Client, intent compare.Intent) *unstructured.Unstructured {
	t.Helper()
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(intent.Kind)
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: intent.Namespace, Name: intent.Name}, live); err != nil {
		t.Fatal(err)
	}
	return live
}

// applyIntent forces: the test changes the ways of one field, as no arm does.
func applyIntent(t *testing.T, c client.Client, live *unstructured.Unstructured, intent compare.Intent) error {
	if !intent.ReadsLive {
		live = nil
	}
	object := &unstructured.Unstructured{Object: intent.Configure(live)}
	object.SetGroupVersionKind(intent.Kind)
	object.SetNamespace(intent.Namespace)
	object.SetName(intent.Name)
	options := client.ApplyOptions{FieldManager: intent.Manager, Force: new(true)}
	config := client.ApplyConfigurationFromUnstructured(object)
	if intent.Subresource != "" {
		return c.SubResource(intent.Subresource).Apply(t.Context(), config, &client.SubResourceApplyOptions{ApplyOptions: options})
	}
	return c.Apply(t.Context(), config, &options)
}

func putIntent(
	t *testing.T, c client.Client, live *unstructured.Unstructured, intent compare.Intent, change func(*unstructured.Unstructured) error,
) error {
	if err := change(live); err != nil {
		return err
	}
	if intent.Subresource != "" {
		return c.SubResource(intent.Subresource).Update(t.Context(), live, client.FieldOwner(intent.Manager))
	}
	return c.Update(t.Context(), live, client.FieldOwner(intent.Manager))
}
