package plugin

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"coapply.dev/fieldowners"
	"coapply.dev/test/kit"
)

const fieldownersData = "../../../fieldowners/testdata"

// TestFieldownersCorpus does the writes of fieldowners/testdata/writes on the server
// and compares what it then records with fieldowners/testdata/objects, which the
// tests of fieldowners read. With APPLYTEST_UPDATE=1 it writes those.
func TestFieldownersCorpus(t *testing.T) {
	w := &corpusWriter{T: t, c: kit.ShapeClient(t)}
	w.namespace = kit.NewNamespace(t, w.c)
	dynamicClient, err := dynamic.NewForConfig(kit.Server(t))
	w.must(err)
	w.dynamic = dynamicClient
	scripts, err := filepath.Glob(filepath.Join(fieldownersData, "writes", "*.txtar"))
	if err != nil || len(scripts) < 10 {
		t.Fatalf("%d scripts, %v", len(scripts), err)
	}
	for _, script := range scripts {
		name := strings.TrimSuffix(filepath.Base(script), ".txtar")
		t.Run(name, func(t *testing.T) {
			w := &corpusWriter{T: t, c: w.c, namespace: w.namespace, dynamic: w.dynamic}
			object := w.play(script)
			normalise(t, object)
			golden := filepath.Join(fieldownersData, "objects", name+".yaml")
			if update := os.Getenv("APPLYTEST_UPDATE"); update == "1" {
				w.must(writeYAML(golden, object))
				return
			}
			want, err := os.ReadFile(golden)
			w.must(err)
			recorded := &unstructured.Unstructured{}
			w.must(yaml.Unmarshal(want, &recorded.Object))
			if diff := gocmp.Diff(owned(t, recorded), owned(t, object)); diff != "" {
				t.Errorf("the server records other managed fields than %s (-recorded +now):\n%s", golden, diff)
			}
		})
	}
}

type corpusWriter struct {
	*testing.T
	c         client.Client
	dynamic   dynamic.Interface
	namespace string
}

func (w *corpusWriter) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// play does the writes of a script and reads the object in the version of the first.
func (w *corpusWriter) play(script string) *unstructured.Unstructured {
	archive, err := txtar.ParseFile(script)
	w.must(err)
	var resource dynamic.ResourceInterface
	var first *unstructured.Unstructured
	for _, step := range archive.Files {
		object := &unstructured.Unstructured{}
		w.must(yaml.UnmarshalStrict(step.Data, &object.Object))
		words := strings.Fields(step.Name)
		if len(words) == 2 { // of the object itself
			resource = w.resource(object)
		}
		if first == nil {
			first = object
		}
		if err := write(w.Context(), resource, object, words); err != nil {
			w.Fatalf("%s: %v", step.Name, err)
		}
	}
	object, err := w.resource(first).Get(w.Context(), first.GetName(), metav1.GetOptions{})
	w.must(err)
	return object
}

func (w *corpusWriter) resource(object *unstructured.Unstructured) dynamic.ResourceInterface {
	kind := object.GroupVersionKind()
	mapping, err := w.c.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
	w.must(err)
	return w.dynamic.Resource(mapping.Resource).Namespace(w.namespace)
}

// write does one step: "create MANAGER", or "apply" or "merge", which may have a
// subresource behind the manager.
func write(ctx context.Context, resource dynamic.ResourceInterface, object *unstructured.Unstructured, words []string) error {
	if len(words) < 2 || resource == nil {
		return errors.New("want VERB MANAGER [SUBRESOURCE], the object itself first")
	}
	verb, manager, subresources := words[0], words[1], words[2:]
	body, err := json.Marshal(object)
	if err != nil {
		return err
	}
	force := true
	switch verb {
	case "create":
		_, err = resource.Create(ctx, object, metav1.CreateOptions{FieldManager: manager}, subresources...)
	case "apply":
		_, err = resource.Patch(ctx, object.GetName(), types.ApplyPatchType, body,
			metav1.PatchOptions{FieldManager: manager, Force: &force}, subresources...)
	case "merge":
		_, err = resource.Patch(ctx, object.GetName(), types.MergePatchType, body,
			metav1.PatchOptions{FieldManager: manager}, subresources...)
	default:
		err = fmt.Errorf("unknown verb %q", verb)
	}
	return err
}

// normalise gives an object what is the same in every run: uid, times, namespace,
// and the order of entries, which the server takes from their times.
func normalise(t *testing.T, object *unstructured.Unstructured) {
	t.Helper()
	then := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	object.SetNamespace("shop")
	object.SetUID("00000000-0000-4000-8000-000000000001")
	object.SetResourceVersion("1000")
	object.SetCreationTimestamp(then)
	entries := object.GetManagedFields()
	for i := range entries {
		if entries[i].Time != nil {
			entries[i].Time = &then
		}
	}
	slices.SortFunc(entries, func(a, b metav1.ManagedFieldsEntry) int {
		return cmp.Or(strings.Compare(a.Manager, b.Manager), strings.Compare(string(a.Operation), string(b.Operation)),
			strings.Compare(a.Subresource, b.Subresource), strings.Compare(a.APIVersion, b.APIVersion),
			bytes.Compare(a.FieldsV1.GetRawBytes(), b.FieldsV1.GetRawBytes()))
	})
	object.SetManagedFields(entries)
}

// owned lists the entries one by one: those of one identity stay apart.
func owned(t *testing.T, object *unstructured.Unstructured) []string {
	t.Helper()
	var lines []string
	for i, raw := range object.GetManagedFields() {
		ownership, err := fieldowners.Parse([]metav1.ManagedFieldsEntry{raw})
		if err != nil {
			t.Fatal(err)
		}
		entry := ownership.Entries()[0]
		lines = append(lines, fmt.Sprintf("entry %d: %s %s, with a time: %v", i, entry.Manager, entry.APIVersion, raw.Time != nil))
		for _, path := range entry.Fields() {
			lines = append(lines, path.String())
		}
	}
	return lines
}

func writeYAML(file string, object *unstructured.Unstructured) error {
	text, err := yaml.Marshal(object.Object)
	if err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o600)
}
