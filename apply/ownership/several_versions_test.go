package ownership_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/ownership"
	"coapply.dev/test/kit/memory"
)

// groups counts groups, as each CRD of the shared server needs its own.
var groups atomic.Int64

// definePairs defines a kind in the versions v1 and v1alpha1.
func definePairs(w *memory.World, group string) {
	w.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "pairs." + group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: "Pair", Plural: "pairs"},
		},
	}
	text := apiextensionsv1.JSONSchemaProps{Type: "string"}
	for _, version := range []string{"v1", "v1alpha1"} {
		crd.Spec.Versions = append(crd.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{
			Name: version, Served: true, Storage: version == "v1",
			Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
				Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"a": text, "b": text},
			}},
		})
	}
	w.Must(w.Create(w.Context(), crd))
}

// TestTransferOfSeveralVersions: if the managed fields have several apiVersions, a dry run shows first whether the server can still store them.
func TestTransferOfSeveralVersions(t *testing.T) {
	const read, write, dryRun = "GET pairs/pair", "PATCH pairs/pair uid resourceVersion", "dry run, PATCH pairs/pair uid resourceVersion"
	for name, c := range map[string]struct {
		happens func(w *memory.World, write func(version, by, patch string))
		sent    []string
		err     error
		text    string
	}{
		"moves": {sent: []string{read, dryRun, write}},
		"the dry run is stale": {
			happens: func(w *memory.World, write func(version, by, patch string)) {
				w.Before(2, func() { write("v1", "another", `{"metadata":{"labels":{"a":"b"}}}`) })
			},
			sent: []string{read, dryRun, read, dryRun, write},
		},
		"the field is owned in another apiVersion by now": { // there the path may be another field than was shown
			happens: func(w *memory.World, write func(version, by, patch string)) {
				w.Before(3, func() { write("v1alpha1", "old", `{"a":"2"}`) })
			},
			sent: []string{read, dryRun, write, read, read}, err: apply.ErrStaleWrite, text: "make and check a new Transfer",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := memory.New(t)
			group := fmt.Sprintf("pairs%d.example.com", groups.Add(1))
			definePairs(w, group)
			pair := func(version string) *unstructured.Unstructured {
				object := &unstructured.Unstructured{Object: map[string]any{}}
				object.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: version, Kind: "Pair"})
				object.SetNamespace("shop")
				object.SetName("pair")
				return object
			}
			write := func(version, by, patch string) {
				w.Must(w.Patch(t.Context(), pair(version), client.RawPatch(types.MergePatchType, []byte(patch)), client.FieldOwner(by)))
			}
			first := pair("v1")
			first.Object["a"] = "0"
			w.Must(w.Create(t.Context(), first, client.FieldOwner("first")))
			write("v1", "old", `{"a":"1"}`)
			write("v1alpha1", "former", `{"b":"1"}`)
			write("v1", "former", `{"metadata":{"labels":{"c":"d"}}}`)
			if c.happens != nil {
				c.happens(w, write)
			}

			mapper := meta.NewDefaultRESTMapper(nil)
			for _, version := range []string{"v1", "v1alpha1"} {
				mapper.Add(schema.GroupVersionKind{Group: group, Version: version, Kind: "Pair"}, meta.RESTScopeNamespace)
			}
			under, err := client.New(w.Config(), client.Options{Mapper: mapper})
			w.Must(err)
			applier, err := apply.New(under, apply.Config{FieldManager: manager, LiveReader: under})
			w.Must(err)
			ref := apply.ObjectRef{
				GroupVersionKind: schema.GroupVersionKind{Group: group, Version: "v1", Kind: "Pair"},
				NamespacedName:   types.NamespacedName{Namespace: "shop", Name: "pair"},
			}
			transfer, err := ownership.Migrate(t.Context(), applier, ref, ownership.From{Manager: "old"}, ownership.From{Manager: "nobody"})
			w.Must(err)
			if got := fmt.Sprint(transfer.Unmatched()); !strings.Contains(got, "the owners are former/Update, old/Update]") {
				t.Errorf("an owner of two apiVersions is named twice: %s", got)
			}
			undo, err := transfer.Do(t.Context())
			if !errors.Is(err, c.err) || c.err == nil && err != nil || err != nil && !strings.Contains(err.Error(), c.text) || (undo == nil) != (err != nil) {
				t.Errorf("%v, %v; want %v, %q", undo, err, c.err, c.text)
			}
			w.WantSent(c.sent...)
		})
	}
}

// incomplete is a reader that changes what it reads.
type incomplete struct {
	client.Reader

	change func(client.Object)
}

// Get is Get of a client.Reader.
func (r incomplete) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	err := r.Reader.Get(ctx, key, into, options...)
	r.change(into)
	return err
}

// TestTransferOfIncompleteReads writes nothing without a guard, and guesses nothing.
func TestTransferOfIncompleteReads(t *testing.T) {
	for want, change := range map[string]func(client.Object){
		"LiveReader returned the object without uid or resourceVersion, which": func(o client.Object) { o.SetResourceVersion("") },
		"LiveReader returned the object without uid or resourceVersion":        func(o client.Object) { o.SetUID("") },
		`managedFields[0] (manager "old")`: func(o client.Object) {
			o.SetManagedFields([]metav1.ManagedFieldsEntry{entry("old", "Update", "", `{"f:spec":1}`)})
		},
	} {
		w := newWorld(t, oldReplicas)
		c := w.Client(w.Config(), nil)
		applier, err := apply.New(c, apply.Config{FieldManager: manager, LiveReader: incomplete{c, change}})
		w.Must(err)
		if _, err := ownership.Migrate(t.Context(), applier, theWeb(""), ownership.From{Manager: "old"}); !errors.Is(err, apply.ErrRefused) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
		w.WantSent(read)
	}
}

// TestTransferThatAWebhookReverts returns an error, and an undo of what the server made of the write.
func TestTransferThatAWebhookReverts(t *testing.T) {
	w := newWorld(t, oldReplicas)
	config := w.Config()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			if request.Method == http.MethodPatch {
				const nothing = `[]`
				request.Body, request.ContentLength = io.NopCloser(strings.NewReader(nothing)), int64(len(nothing))
			}
			return next.RoundTrip(request)
		})
	})
	c := w.Client(config, nil)
	applier, err := apply.New(c, apply.Config{FieldManager: manager, LiveReader: c})
	w.Must(err)
	w.applier = applier
	undo, err := w.migrate().Do(t.Context())
	const says = manager + "/Apply does not own .spec.replicas"
	if !errors.Is(err, apply.ErrRefused) || !strings.Contains(err.Error(), says) || len(undo.Moves()) != 1 {
		t.Errorf("%v, %v; want %s", undo, err, says)
	}
	w.wantOwner(t, oldReplicas)
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
