package theft

import (
	"encoding/json"
	"fmt"
	"go/types"
	"reflect"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"coapply.dev/cmd/ownlint/internal/flow"
	"coapply.dev/cmd/ownlint/internal/spelling"
	"coapply.dev/fieldowners"
	"coapply.dev/test/kit"
	v1 "example.com/operator/src/api/v1"
)

func TestMain(m *testing.M) { kit.Main(m) }

var group = schema.GroupVersion{Group: "theft.example.com", Version: "v1"}

// kinds are the types of the test operator. The rule names no field of Plain, so the user must keep every field of Plain.
var kinds = []client.Object{&v1.Database{}, &v1.Site{}, &v1.Plain{}}

// TestTheft lets a user apply an object, and an operator read the object into the Go type, add a finalizer and update the
// whole object. For each field that wide-update names, the user must lose the field, or the operator must own a field that
// the user did not set. The user must keep all other fields.
func TestTheft(t *testing.T) {
	changes := changesOf(t)
	c := newClient(t)
	namespace := kit.NewNamespace(t, kit.NewClient(t, kit.Server(t)))
	for _, kind := range kinds {
		goType := reflect.TypeOf(kind).Elem()
		for i, change := range changes[goType.Name()] {
			t.Run(goType.Name()+change.Path, func(t *testing.T) {
				object := newObject(goType.Name(), namespace, fmt.Sprint("changed-", i))
				object.Object["spec"] = example(goType, changes[goType.Name()], "").(map[string]any)["spec"]
				path := set(t, object.Object, goType, change)
				before, after := update(t, c, goType, object)
				taken := before.owns("user", path) && !after.owns("user", path) || !before.owns("user", path) && after.owns("operator", path)
				if !taken {
					t.Errorf("%s: %s: the user owned it before the write: %t, after it: %t; the operator owns it: %t",
						path, change.Why, before.owns("user", path), after.owns("user", path), after.owns("operator", path))
				}
			})
		}
		t.Run(goType.Name()+" without its changes", func(t *testing.T) {
			object := newObject(goType.Name(), namespace, "kept")
			object.Object["spec"] = example(goType, changes[goType.Name()], "").(map[string]any)["spec"]
			before, after := update(t, c, goType, object)
			had, has := before.of("user"), after.of("user")
			if len(had) < 2 || !slices.EqualFunc(had, has, fieldowners.Path.Equal) {
				t.Errorf("the user owned %v, and now owns %v", had, has)
			}
		})
	}
}

// changesOf returns the fields that wide-update names, by type name.
func changesOf(t *testing.T) map[string][]spelling.Change {
	t.Helper()
	loaded, err := packages.Load(&packages.Config{Mode: packages.LoadAllSyntax | packages.NeedModule}, "example.com/operator/src/api/v1")
	if err != nil || len(loaded) != 1 || len(loaded[0].Errors) > 0 {
		t.Fatal(err, loaded)
	}
	graph, err := checker.Analyze([]*analysis.Analyzer{flow.Analyzer}, loaded, nil)
	if err != nil {
		t.Fatal(err)
	}
	analysed := graph.Roots[0].Result.(*flow.Package)
	changes := map[string][]spelling.Change{}
	for _, kind := range kinds {
		name := reflect.TypeOf(kind).Elem().Name()
		changes[name] = analysed.Spelling(loaded[0].Types.Scope().Lookup(name).Type().(*types.Named))
	}
	if len(changes["Database"]) == 0 || len(changes["Site"]) == 0 || len(changes["Plain"]) > 0 {
		t.Fatalf("%v", changes)
	}
	return changes
}

func newClient(t *testing.T) client.Client {
	t.Helper()
	keep := apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true)}
	var crds []*apiextensionsv1.CustomResourceDefinition
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, group)
	for _, kind := range kinds {
		name := reflect.TypeOf(kind).Elem().Name()
		plural := strings.ToLower(name) + "s"
		spec := *keep.DeepCopy()
		spec.Properties = map[string]apiextensionsv1.JSONSchemaProps{"tls": {Type: "boolean", Default: &apiextensionsv1.JSON{Raw: []byte("true")}}} // as the marker of Site says
		if name != "Site" {
			spec.Properties = nil
		}
		crds = append(crds, &apiextensionsv1.CustomResourceDefinition{
			ObjectMeta: metav1.ObjectMeta{Name: plural + "." + group.Group},
			Spec: apiextensionsv1.CustomResourceDefinitionSpec{
				Group: group.Group, Scope: apiextensionsv1.NamespaceScoped,
				Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: plural, Singular: strings.ToLower(name), Kind: name, ListKind: name + "List"},
				Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: group.Version, Served: true, Storage: true,
					Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
						Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": spec, "status": keep}}}}},
			},
		})
		scheme.AddKnownTypeWithName(group.WithKind(name), kind)
	}
	config := kit.Server(t)
	if _, err := kit.InstallCRDs(config, envtest.CRDInstallOptions{CRDs: crds}); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func newObject(kind, namespace, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(group.WithKind(kind))
	o.SetNamespace(namespace)
	o.SetName(strings.ToLower(kind) + "-" + name)
	return o
}

// update applies an object as the user, writes it as the operator, and returns the owners before and after the write.
func update(t *testing.T, c client.Client, goType reflect.Type, object *unstructured.Unstructured) (before, after owners) {
	t.Helper()
	key := client.ObjectKeyFromObject(object)
	if err := c.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("user")); err != nil {
		t.Fatal(err)
	}
	before = ownersOf(t, object)
	typed := reflect.New(goType).Interface().(client.Object)
	if err := c.Get(t.Context(), key, typed); err != nil {
		t.Fatal(err)
	}
	controllerutil.AddFinalizer(typed, "theft.example.com/operator")
	if err := c.Update(t.Context(), typed, client.FieldOwner("operator")); err != nil {
		t.Fatal(err)
	}
	if err := c.Get(t.Context(), key, object); err != nil {
		t.Fatal(err)
	}
	return before, ownersOf(t, object)
}

type owners struct{ fieldowners.Ownership }

func ownersOf(t *testing.T, object *unstructured.Unstructured) owners {
	t.Helper()
	parsed, err := fieldowners.Parse(object.GetManagedFields())
	if err != nil {
		t.Fatal(err)
	}
	return owners{parsed}
}

func (o owners) owns(manager string, path fieldowners.Path) bool {
	return slices.ContainsFunc(o.OwnersOf(path), func(m fieldowners.Manager) bool { return m.Name == manager })
}

func (o owners) of(manager string) (paths []fieldowners.Path) {
	for _, entry := range o.Entries() {
		if entry.Name == manager {
			paths = append(paths, entry.Leaves()...)
		}
	}
	return paths
}

// example returns JSON for a Go type with a value for each field that is not in changes.
func example(goType reflect.Type, changes []spelling.Change, path string) any {
	switch goType.Kind() {
	case reflect.Pointer:
		return example(goType.Elem(), changes, path)
	case reflect.String:
		return "x"
	case reflect.Bool:
		return true
	case reflect.Int32, reflect.Int64:
		return int64(1)
	case reflect.Map:
		return map[string]any{"key": example(goType.Elem(), changes, path+"[*]")}
	case reflect.Slice:
		return []any{example(goType.Elem(), changes, path+"[*]")}
	}
	switch goType {
	case reflect.TypeFor[intstr.IntOrString]():
		return "http"
	case reflect.TypeFor[runtime.RawExtension]():
		return map[string]any{"a": "60m"}
	}
	fields := map[string]any{}
	for i := range goType.NumField() {
		name, _, _ := strings.Cut(goType.Field(i).Tag.Get("json"), ",")
		below := path + "." + name
		changed := slices.ContainsFunc(changes, func(c spelling.Change) bool {
			return c.Path == below || strings.TrimSuffix(c.Path, "[*]") == below
		})
		if name == "" || name == "-" || changed || slices.Contains([]string{"metadata", "status"}, name) || strings.Count(below, "nested")+strings.Count(below, "items") > 1 {
			continue
		}
		fields[name] = example(goType.Field(i).Type, changes, below)
	}
	return fields
}

// set stores a value that the round trip will respell or drop. For an added field, set deletes the field and its enclosing
// struct. It returns the path of the field.
func set(t *testing.T, content map[string]any, goType reflect.Type, change spelling.Change) fieldowners.Path {
	t.Helper()
	steps := strings.Split(strings.TrimPrefix(change.Path, "."), ".")
	var at any = content
	path, last := "", len(steps)-1
	for i, step := range steps {
		name, within, _ := strings.Cut(step, "[*]")
		fields := at.(map[string]any)
		path += "." + name
		if change.Kind == spelling.Added && i == last {
			delete(fields, name)
			if i > 1 {
				unstructured.RemoveNestedField(content, steps[:last]...)
			}
			return fieldowners.MustParsePath(path)
		}
		if within != "" {
			t.Fatalf("%s has a step that this test does not build", change.Path)
		}
		switch {
		case i < last && fields[name] == nil:
			fields[name] = map[string]any{}
		case i == last && strings.HasSuffix(step, "[*]"):
			fields[name] = map[string]any{"cpu": spelled(t, change)}
			path += ".cpu"
		case i == last:
			fields[name] = spelled(t, change)
		}
		at = fields[name]
	}
	return fieldowners.MustParsePath(path)
}

// spelled returns the value before the change: the JSON text before " becomes " in change.Why.
func spelled(t *testing.T, change spelling.Change) any {
	t.Helper()
	text, _, _ := strings.Cut(change.Why, " becomes ")
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("%q: %v", change.Why, err)
	}
	return value
}
