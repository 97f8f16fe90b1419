package steady

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
	"sigs.k8s.io/yaml"
)

// proofCase is an apply, and an object that has the entry which the apply makes.
type proofCase struct {
	request Request
	read    Read
	schemas managedfields.TypeConverter
}

// newProof takes the object's values as YAML, where they are not those that are applied.
func newProof(t *testing.T, schemas managedfields.TypeConverter, config string, live ...string) *proofCase {
	t.Helper()
	object := func(content string) *unstructured.Unstructured {
		found := &unstructured.Unstructured{}
		if raw, err := yaml.YAMLToJSON([]byte(content)); err != nil || found.UnmarshalJSON(raw) != nil {
			t.Fatal(content, err)
		}
		return found
	}
	wanted := object(config)
	applied, err := schemas.ObjectToTyped(wanted)
	if err != nil {
		t.Fatal(err)
	}
	set, err := fieldsOf(applied)
	if err != nil {
		t.Fatal(err)
	}
	fields, err := set.ToJSON()
	if err != nil {
		t.Fatal(err)
	}
	kind := wanted.GroupVersionKind()
	read := object(append(live, config)[0])
	read.SetManagedFields([]metav1.ManagedFieldsEntry{
		entryOf("other", wanted.GetAPIVersion(), `{"f:metadata":{"f:annotations":{}}}`), entryOf("shop", wanted.GetAPIVersion(), string(fields)),
	})
	read.SetUID("uid-1")
	read.SetResourceVersion("1000")
	request := Request{Manager: "shop", Kind: kind, Config: wanted.Object, GoType: reflect.TypeFor[appsv1.Deployment]()}
	if kind == gadgetKind {
		request.GoType = reflect.TypeFor[gadget]()
	}
	return &proofCase{request, Read{Object: read, Kind: kind}, schemas}
}

func entryOf(manager, version, fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationApply, APIVersion: version,
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields)}
}

// readAs has the object read as a Go type.
func (p *proofCase) readAs(t *testing.T, object client.Object) *proofCase {
	t.Helper()
	raw, ok := p.read.Object.(*unstructured.Unstructured)
	if !ok {
		t.Fatal("it was read before")
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(raw.Object, object); err != nil {
		t.Fatal(err)
	}
	p.read.Object = object
	return p
}

func (p *proofCase) entries(change func([]metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry) *proofCase {
	p.read.SetManagedFields(change(p.read.GetManagedFields()))
	return p
}

// sharedBy adds another's entry.
func (p *proofCase) sharedBy(fields string) *proofCase {
	return p.entries(func(all []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
		return append(all, entryOf("sharer", "apps/v1", fields))
	})
}

func (p *proofCase) asks(change func(*Request)) *proofCase {
	change(&p.request)
	return p
}

// wants holds that it is proven ("", or "exactly"), or why it is not.
func (p *proofCase) wants(t *testing.T, want string) {
	t.Helper()
	exact, err := p.request.prove(p.read, known(p.schemas))
	switch {
	case want == "", want == "exactly":
		if err != nil || exact != (want == "exactly") {
			t.Errorf("exactly %v, %v", exact, err)
		}
	case exact, err == nil, !strings.Contains(err.Error(), want):
		t.Errorf("exactly %v, %v; want %q", exact, err, want)
	}
}

// web is a Deployment with a pod of this spec, and labels.
func web(pod string) string {
	return fmt.Sprintf("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: shop, labels: {app: web}}\nspec: {template: {spec: %s}}\n", pod)
}

func container(fields string) string { return web("{containers: [{name: web, " + fields + "}]}") }

func gadgetOf(fields string) string {
	return fmt.Sprintf("apiVersion: example.com/v1\nkind: Gadget\nmetadata: {name: web, namespace: shop}\nspec: %s\n", fields)
}

// newerModels are those of a server that is newer than k8s.io/api: pods, their
// tolerations and their variables have a field more.
func newerModels(t *testing.T) map[string]*spec.Schema {
	models := serverModels(t, "apis/apps/v1")
	for _, name := range []string{"PodSpec", "Toleration", "EnvVar"} {
		models["io.k8s.api.core.v1."+name].Properties["newer"] = *spec.Int64Property()
	}
	return models
}

const cpu1000m, cpu1, cpu2 = "resources: {limits: {cpu: 1000m}}", `resources: {limits: {cpu: "1"}}`, `resources: {limits: {cpu: "2"}}`

// TestProve changes one thing of what is proven, and wants to be told why it is not.
func TestProve(t *testing.T) {
	apps, newer, gadgets := schemasOf(t, serverModels(t, "apis/apps/v1")), schemasOf(t, newerModels(t)), gadgetSchemas(t)
	prove := func(config string, live ...string) *proofCase { return newProof(t, apps, config, live...) }
	const (
		proven, exactly = "", "exactly"
		change          = "the apply would change"
		notOurs         = "exactly one Apply entry"
		hidden          = "may hide stored fields"
	)
	fewer := func(set *fieldpath.Set) *fieldpath.Set { return set.Difference(fieldpath.NewSet(imagePath)) }
	more := func(set *fieldpath.Set) *fieldpath.Set {
		return set.Union(fieldpath.NewSet(fieldpath.MakePathOrDie("spec", "paused")))
	}
	for name, c := range map[string]struct {
		*proofCase

		want string
	}{
		"nothing":                   {prove(container("image: a")), exactly},
		"read as its type":          {prove(container("image: a")).readAs(t, &appsv1.Deployment{}), exactly},
		"a field beside":            {prove(container("image: a"), container("image: a, tty: true")), exactly},
		"twice beside":              {prove(container("image: a"), container("image: a, env: [{name: x}, {name: x}]")), exactly},
		"a map emptied":             {prove(deploymentOf("spec: {strategy: {}}"), deploymentOf("spec: {strategy: {type: Recreate}}")), "without an owner"},
		"a map emptied, of others":  {prove(deploymentOf("spec: {strategy: {}}"), deploymentOf("spec: {strategy: {type: Recreate}}")).sharedBy(`{"f:spec":{"f:strategy":{"f:type":{}}}}`), proven},
		"a map emptied, of some":    {prove(deploymentOf("spec: {strategy: {}}"), deploymentOf("spec: {strategy: {type: Recreate, rollingUpdate: {maxSurge: 1}}}")).sharedBy(`{"f:spec":{"f:strategy":{"f:type":{}}}}`), "without an owner"},
		"a key left to its default": {prove(container("ports: [{containerPort: 80}]"), container("ports: [{containerPort: 80, protocol: TCP}]")), exactly},
		"an empty map":              {prove(deploymentOf("spec: {strategy: {}}")), exactly},
		"by kubectl":                {prove(container("image: a")).asks(asKubectl), "kubectl"},
		"another value":             {prove(container("image: a"), container("image: b")), change},
		"another value, on top":     {prove(web("{hostname: a}"), web("{hostname: b}")), "would change"},
		"another field":             {prove(container("image: a")).entries(owning(t, fewer)), "does not own exactly"},
		"a field that we gave up":   {prove(container("image: a")).entries(owning(t, more)), "does not own exactly"},
		"two entries":               {prove(container("image: a")).entries(twice), notOurs},
		"no entry":                  {prove(container("image: a")).entries(none), notOurs},
		"another version of ours":   {prove(container("image: a")).entries(ofVersion("apps/v1beta1")), notOurs},
		"by another manager":        {prove(container("image: a")).asks(func(r *Request) { r.Manager = "x" }), notOurs},
		"through a subresource":     {prove(container("image: a")).asks(func(r *Request) { r.Subresource = "status" }), notOurs},
		"of another kind":           {prove(container("image: a")).asks(func(r *Request) { r.Kind.Kind = "ReplicaSet" }), "read as"},
		"the status":                {prove(container("image: a") + "status: {replicas: 1}"), "sets the status"},
		"an item without its key":   {newProof(t, gadgets, gadgetOf("{modes: [{}]}"), gadgetOf("{modes: [{key: a}]}")), "sets no field"},
		"items in another order":    {prove(web("{containers: [{name: a}, {name: b}]}"), web("{containers: [{name: b}, {name: a}]}")), change},
		"a null":                    {prove(web("{nodeSelector: null}"), web("{nodeSelector: {a: b}}")), change},
		"a form":                    {prove(container(cpu1000m), container(cpu1)), proven},
		"a form, beside another":    {prove(container(cpu1000m), container(cpu1)).sharedBy(fieldsOfContainer(`"f:image":{}`)), proven},
		"a form that is shared":     {prove(container(cpu1000m), container(cpu1)).sharedBy(fieldsOfContainer(`"f:resources":{"f:limits":{"f:cpu":{}}}`)), "sharer also owns"},
		"a form, and who knows":     {prove(container(cpu1000m), container(cpu1)).sharedBy(`{"i:x":{}}`), "sharer also owns"},
		"no form of the same":       {prove(container(cpu1000m), container(cpu2)), change},
		"a form of a custom kind":   {newProof(t, gadgets, gadgetOf("{size: 1000m}"), gadgetOf(`{size: "1"}`)), change},
		"a form of an unknown one":  {prove(container(cpu1000m), container(cpu1)).asks(func(r *Request) { r.GoType = nil }), change},
		"a form of another's type":  {prove(container(cpu1000m), container(cpu1)).asks(func(r *Request) { r.GoType = reflect.TypeFor[copied]() }), change},
		"a zero":                    {prove(container("stdin: false, image: a"), container("image: a")), proven},
		"no zero there":             {prove(container("stdin: false, image: a"), container("stdin: true, image: a")), change},
		"a zero that is shared":     {prove(container("stdin: false, image: a"), container("image: a")).sharedBy(fieldsOfContainer(`"f:stdin":{}`)), "sharer also owns"},
		"a zero alone in a map":     {prove(volume("emptyDir: {medium: ''}"), volume("emptyDir: {}")), change}, // its map would be ours instead
		"a zero in what is null":    {prove(strategy("{type: ''}"), strategy("null")), change},
		"a zero alone, in a map":    {prove(strategy("{type: ''}"), strategy("{}")), proven},
		"a zero that makes a map":   {prove(strategy("{type: ''}"), deploymentOf("spec: {}")), change},

		"newer: as it is":              {newProof(t, newer, web("{newer: 1}")), exactly},
		"newer: set":                   {newProof(t, newer, web("{newer: 1}"), web("{hostPID: true}")), change},
		"newer: changed":               {newProof(t, newer, web("{newer: 1}"), web("{newer: 2}")), "would change"},
		"newer: a zero":                {newProof(t, newer, web("{newer: 0}"), web("{hostPID: true}")), change},
		"newer: set in an item":        {newProof(t, newer, container("env: [{name: a, newer: 1}]"), container("env: [{name: a}]")), change},
		"newer: in one of an atomic":   {newProof(t, newer, tolerates("{key: a, newer: 1}"), tolerates("{key: a}")), change},
		"newer: typed":                 {newProof(t, newer, web("{newer: 1}")).readAs(t, &appsv1.Deployment{}), hidden},
		"newer: typed, of an item":     {newProof(t, newer, container("env: [{name: a, newer: 1}]")).readAs(t, &appsv1.Deployment{}), hidden},
		"newer: typed, of an atomic":   {newProof(t, newer, tolerates("{key: a, newer: 1}")).readAs(t, &appsv1.Deployment{}), hidden},
		"newer: typed, gone from it":   {newProof(t, newer, tolerates("{key: a}"), tolerates("{key: a, newer: 1}")).readAs(t, &appsv1.Deployment{}), hidden},
		"newer: typed, of no interest": {newProof(t, newer, container("env: [{name: a}]"), container("newer: 1, env: [{name: a}]")).readAs(t, &appsv1.Deployment{}), exactly},
		"gadget: typed":                {newProof(t, gadgets, gadgetOf("{name: a, table: {}}")).readAs(t, &gadget{}), hidden},
		"gadget: typed, a name":        {newProof(t, gadgets, gadgetOf("{name: a}"), gadgetOf("{name: a, newer: b}")).readAs(t, &gadget{}), exactly},
		"gadget: typed, a quantity":    {newProof(t, gadgets, gadgetOf("{size: '1'}")).readAs(t, &gadget{}), hidden},
	} {
		t.Run(name, func(t *testing.T) { c.wants(t, c.want) })
	}
}

// TestProveForms: values that differ in form are no reason to take more for a form.
func TestProveForms(t *testing.T) {
	p := newProof(t, schemasOf(t, serverModels(t, "apis/apps/v1")), container(cpu1000m), container(cpu1))
	wanted, err := p.schemas.ObjectToTyped(&unstructured.Unstructured{Object: p.request.Config})
	if err != nil {
		t.Fatal(err)
	}
	set, err := fieldsOf(wanted)
	if err != nil {
		t.Fatal(err)
	}
	content, err := p.request.contentOf(p.read)
	if err != nil {
		t.Fatal(err)
	}
	live, err := typed.AsTyped(content, wanted.Schema(), wanted.TypeRef())
	if err != nil {
		t.Fatal(err)
	}
	some, no := fieldpath.NewSet(imagePath), fieldpath.NewSet()
	for name, c := range map[string]struct {
		removed, modified, added *fieldpath.Set
		forms                    bool
	}{
		"nothing, but an order": {no, no, no, false},
		"modified":              {no, some, no, true},
		"added":                 {no, no, some, true},
		"removed":               {some, no, no, false},
		"removed and modified":  {some, some, no, false},
	} {
		changes := &typed.Comparison{Removed: c.removed, Modified: c.modified, Added: c.added}
		if err := p.request.proveForms(wanted, set, live, changes, p.read); (err == nil) != c.forms {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// copied is what somebody took of a Deployment for a type of theirs.
type copied struct{ appsv1.Deployment }

func asKubectl(r *Request) { r.Manager = "kubectl" }

func deploymentOf(fields string) string {
	return "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: shop}\n" + fields + "\n"
}

func strategy(fields string) string { return deploymentOf("spec: {strategy: " + fields + "}") }

func volume(fields string) string { return web("{volumes: [{name: tmp, " + fields + "}]}") }

func tolerates(item string) string { return web("{tolerations: [" + item + "]}") }

func fieldsOfContainer(fields string) string {
	return `{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":{` + fields + `}}}}}}`
}

// imagePath is where a container's image is.
var imagePath = fieldpath.MakePathOrDie("spec", "template", "spec", "containers", fieldpath.KeyByFields("name", "web"), "image")

// owning has our entry say that we own other fields.
func owning(t *testing.T, other func(set *fieldpath.Set) *fieldpath.Set) func([]metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
	return func(all []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
		set, err := parseFields(&all[1])
		if err != nil {
			t.Fatal(err)
		}
		raw, err := other(set).ToJSON()
		if err != nil {
			t.Fatal(err)
		}
		all[1].FieldsV1 = metav1.NewFieldsV1(string(raw))
		return all
	}
}

func twice(all []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry { return append(all, all[1]) }

func none(all []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry { return all[:1] }

func ofVersion(version string) func([]metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
	return func(all []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
		all[1].APIVersion = version
		return all
	}
}

func known(schemas managedfields.TypeConverter) func() (managedfields.TypeConverter, error) {
	return func() (managedfields.TypeConverter, error) { return schemas, nil }
}
