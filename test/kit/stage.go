package kit

import (
	"encoding/json"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"coapply.dev/fieldowners"
)

// Stage has one object, to which several field managers write.
type Stage struct {
	T           *testing.T
	Client      client.Client
	Kind        string
	Subresource string
	Namespace   string
	Name        string
}

// APIVersions maps the kinds of a Stage to their apiVersions.
var APIVersions = map[string]string{
	"ConfigMap": "v1", "Service": "v1", "Deployment": "apps/v1", "Shape": "test.coapply.dev/v1",
}

// typedConfigs creates apply configurations, by kind. Kinds that are not listed have unstructured ones.
var typedConfigs = map[string]func() runtime.ApplyConfiguration{
	"ConfigMap":  func() runtime.ApplyConfiguration { return &corev1ac.ConfigMapApplyConfiguration{} },
	"Service":    func() runtime.ApplyConfiguration { return &corev1ac.ServiceApplyConfiguration{} },
	"Deployment": func() runtime.ApplyConfiguration { return &appsv1ac.DeploymentApplyConfiguration{} },
}

var installShapes = OncePerServer(func(config *rest.Config) error {
	_, err := InstallCRDs(config, envtest.CRDInstallOptions{
		Paths: []string{File("test", "kit", "testdata", "shapes.yaml")}, ErrorIfPathMissing: true,
	})
	return err
})

// ShapeClient returns a client of a server that has the kind Shape.
func ShapeClient(t *testing.T) client.Client {
	t.Helper()
	installShapes(t)
	return NewClient(t, Server(t))
}

// NewStage creates the object in Bases of the given kind, with the field manager base.
func NewStage(t *testing.T, c client.Client, namespace, kind, subresource string) *Stage {
	t.Helper()
	s := &Stage{T: t, Client: c, Kind: kind, Subresource: subresource, Namespace: namespace}
	object := s.Object(Bases[kind])
	object.SetGenerateName("x-")
	s.Must(c.Create(t.Context(), object, client.FieldOwner("base")))
	s.Name = object.GetName()
	return s
}

// Must fails the test on an error.
func (s *Stage) Must(err error) {
	s.T.Helper()
	if err != nil {
		s.T.Fatal(err)
	}
}

// Object parses YAML, and sets the apiVersion, kind, namespace and name of the stage's object.
func (s *Stage) Object(text string) *unstructured.Unstructured {
	s.T.Helper()
	object := &unstructured.Unstructured{}
	raw, err := yaml.YAMLToJSON([]byte(text))
	s.Must(err)
	s.Must(json.Unmarshal(raw, &object.Object)) // float64 for every number
	object.SetAPIVersion(APIVersions[s.Kind])
	object.SetKind(s.Kind)
	object.SetNamespace(s.Namespace)
	object.SetName(s.Name)
	raw, err = object.MarshalJSON()
	s.Must(err)
	s.Must(object.UnmarshalJSON(raw)) // int64 for whole ones
	return object
}

// Config returns an apply configuration. It is typed if the kind is in typedConfigs.
func (s *Stage) Config(text string) runtime.ApplyConfiguration {
	s.T.Helper()
	object := s.Object(text)
	build, ok := typedConfigs[s.Kind]
	if !ok {
		return client.ApplyConfigurationFromUnstructured(object)
	}
	typed := build()
	raw, err := object.MarshalJSON()
	s.Must(err)
	s.Must(json.Unmarshal(raw, typed))
	return typed
}

// Apply applies the given fields with another field manager, by force.
func (s *Stage) Apply(manager, text string) {
	s.T.Helper()
	s.Must(ApplyTo(s.T.Context(), s.Client, s.Object(text), s.Subresource, client.ApplyOptions{FieldManager: manager, Force: new(true)}))
}

// Update updates the object (PUT) with another field manager, and sets the given fields. A dry run of an apply merges
// these fields into the object.
func (s *Stage) Update(manager, text string) {
	s.T.Helper()
	object := s.Object(text)
	s.Must(ApplyTo(s.T.Context(), s.Client, object, s.Subresource,
		client.ApplyOptions{FieldManager: manager, Force: new(true), DryRun: []string{metav1.DryRunAll}}))
	s.Put(manager, object)
}

// Put updates the object (PUT) with the given field manager.
func (s *Stage) Put(manager string, object *unstructured.Unstructured) {
	s.T.Helper()
	object.SetManagedFields(nil)
	if s.Subresource != "" {
		s.Must(s.Client.SubResource(s.Subresource).Update(s.T.Context(), object, client.FieldOwner(manager)))
		return
	}
	s.Must(s.Client.Update(s.T.Context(), object, client.FieldOwner(manager)))
}

// Live reads the object.
func (s *Stage) Live() *unstructured.Unstructured {
	s.T.Helper()
	object := s.Object(`{}`)
	s.Must(s.Client.Get(s.T.Context(), client.ObjectKeyFromObject(object), object))
	return object
}

// Value returns the live value of a field.
func (s *Stage) Value(path string) any {
	s.T.Helper()
	found, _ := fieldowners.MustParsePath(path).Value(s.Live().Object)
	return found
}

// Ownership returns the owners of all fields of the live object.
func (s *Stage) Ownership() fieldowners.Ownership {
	s.T.Helper()
	ownership, err := fieldowners.Parse(s.Live().GetManagedFields())
	s.Must(err)
	return ownership
}

// Owners returns the owners of a field of the live object.
func (s *Stage) Owners(path string) []string {
	s.T.Helper()
	return ownersIn(s.Ownership(), path)
}

// Scaled has a Shape for each kind with the subresource scale: the field that the subresource sets.
var Scaled = map[string]Shape{
	"Deployment": BuiltinShapes["scalar"],
	"Shape": {
		Reason: "the field has another name than in the scale",
		Kind:   "Shape",
		Theirs: `{spec: {size: 3}}`,
		Ours:   `{metadata: {labels: {ours: x}}, spec: {size: 2}}`,
		Path:   ".spec.size", Want: int64(2), Have: int64(3),
		Whole: []string{OurLabel}, Rest: []string{OurLabel},
	},
}

// Scale sets the replicas to 3 with another field manager, through the subresource scale, as kubectl scale does.
func (s *Stage) Scale(manager string) {
	s.T.Helper()
	ScaleTo(s.T, s.Client, s.Object(`{}`), "3", manager)
}
