package integration

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"coapply.dev/fieldowners"
)

// stage is where one object of a kind is fought over.
type stage struct {
	t           *testing.T
	client      client.Client
	kind        string
	subresource string
	namespace   string
	name        string
}

var apiVersions = map[string]string{
	"ConfigMap": "v1", "Service": "v1", "Deployment": "apps/v1", "Shape": "test.coapply.dev/v1",
}

// typedConfigs are the kinds whose intents are typed; the others' are unstructured.
var typedConfigs = map[string]func() runtime.ApplyConfiguration{
	"ConfigMap":  func() runtime.ApplyConfiguration { return &corev1ac.ConfigMapApplyConfiguration{} },
	"Service":    func() runtime.ApplyConfiguration { return &corev1ac.ServiceApplyConfiguration{} },
	"Deployment": func() runtime.ApplyConfiguration { return &appsv1ac.DeploymentApplyConfiguration{} },
}

var installShapes = sync.OnceValue(func() error {
	s, err := sharedServer()
	if err != nil {
		return err
	}
	_, err = envtest.InstallCRDs(s.Config(), envtest.CRDInstallOptions{
		Paths: []string{filepath.Join("testdata", "shapes.yaml")}, ErrorIfPathMissing: true,
	})
	return err
})

// shapeClient gives a client of a server that has the kind Shape.
func shapeClient(t *testing.T) client.Client {
	t.Helper()
	config := server(t)
	if err := installShapes(); err != nil {
		t.Fatal(err)
	}
	return newClient(t, config)
}

// newStage creates an object with what makes it valid, by a manager called base.
func newStage(t *testing.T, c client.Client, namespace, kind, subresource string) *stage {
	t.Helper()
	s := &stage{t: t, client: c, kind: kind, subresource: subresource, namespace: namespace}
	object := s.object(bases[kind])
	object.SetGenerateName("x-")
	s.must(c.Create(t.Context(), object, client.FieldOwner("base")))
	s.name = object.GetName()
	return s
}

func (s *stage) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// object reads YAML and completes it to an object of the stage's name.
func (s *stage) object(text string) *unstructured.Unstructured {
	s.t.Helper()
	object := &unstructured.Unstructured{}
	raw, err := yaml.YAMLToJSON([]byte(text))
	s.must(err)
	s.must(json.Unmarshal(raw, &object.Object)) // float64 for every number
	object.SetAPIVersion(apiVersions[s.kind])
	object.SetKind(s.kind)
	object.SetNamespace(s.namespace)
	object.SetName(s.name)
	raw, err = object.MarshalJSON()
	s.must(err)
	s.must(object.UnmarshalJSON(raw)) // int64 for whole ones
	return object
}

// config gives an apply configuration, of the kind's own type where there is one.
func (s *stage) config(text string) runtime.ApplyConfiguration {
	s.t.Helper()
	object := s.object(text)
	build, ok := typedConfigs[s.kind]
	if !ok {
		return client.ApplyConfigurationFromUnstructured(object)
	}
	typed := build()
	raw, err := object.MarshalJSON()
	s.must(err)
	s.must(json.Unmarshal(raw, typed))
	return typed
}

// apply has another manager apply, and take what others own.
func (s *stage) apply(manager, text string) {
	s.t.Helper()
	s.must(s.applyBy(client.ApplyConfigurationFromUnstructured(s.object(text)), client.FieldOwner(manager), client.ForceOwnership))
}

type anyApplyOption interface {
	client.ApplyOption
	client.SubResourceApplyOption
}

func (s *stage) applyBy(config runtime.ApplyConfiguration, options ...anyApplyOption) error {
	var whole []client.ApplyOption
	var sub []client.SubResourceApplyOption
	for _, option := range options {
		whole, sub = append(whole, option), append(sub, option)
	}
	if s.subresource != "" {
		return s.client.SubResource(s.subresource).Apply(s.t.Context(), config, sub...)
	}
	return s.client.Apply(s.t.Context(), config, whole...)
}

// update has another manager PUT the object with the values in it. An apply that
// the server only tries out merges them.
func (s *stage) update(manager, text string) {
	s.t.Helper()
	object := s.object(text)
	s.must(s.applyBy(client.ApplyConfigurationFromUnstructured(object), client.FieldOwner(manager), client.ForceOwnership, client.DryRunAll))
	s.put(manager, object)
}

// put writes an object read as one manager's update.
func (s *stage) put(manager string, object *unstructured.Unstructured) {
	s.t.Helper()
	object.SetManagedFields(nil)
	if s.subresource != "" {
		s.must(s.client.SubResource(s.subresource).Update(s.t.Context(), object, client.FieldOwner(manager)))
		return
	}
	s.must(s.client.Update(s.t.Context(), object, client.FieldOwner(manager)))
}

// wipe takes all managed fields away.
func (s *stage) wipe() {
	s.t.Helper()
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"managedFields":[{}]}}`))
	s.must(s.client.Patch(s.t.Context(), s.object(`{}`), patch))
	if left := s.live().GetManagedFields(); len(left) > 0 {
		s.t.Fatalf("managed fields are left: %v", left)
	}
}

func (s *stage) live() *unstructured.Unstructured {
	s.t.Helper()
	object := s.object(`{}`)
	s.must(s.client.Get(s.t.Context(), client.ObjectKeyFromObject(object), object))
	return object
}

// value gives the live value of a field.
func (s *stage) value(path string) any {
	s.t.Helper()
	found, _ := fieldowners.MustParsePath(path).Value(s.live().Object)
	return found
}

func (s *stage) ownership() fieldowners.Ownership {
	s.t.Helper()
	ownership, err := fieldowners.Parse(s.live().GetManagedFields())
	s.must(err)
	return ownership
}

// owners names the managers of a field.
func (s *stage) owners(path string) []string {
	s.t.Helper()
	var names []string
	for _, manager := range s.ownership().OwnersOf(fieldowners.MustParsePath(path)) {
		names = append(names, manager.String())
	}
	return names
}

// leaves lists what a manager owns by apply, in the order of strings.
func (s *stage) leaves(manager string) []string {
	s.t.Helper()
	var leaves []string
	for _, entry := range s.ownership().Entries() {
		if entry.Name != manager || entry.Operation != metav1.ManagedFieldsOperationApply {
			continue
		}
		for _, path := range entry.Leaves() {
			leaves = append(leaves, path.String())
		}
	}
	slices.Sort(leaves)
	return leaves
}
