package applyset_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/applyset"
	"coapply.dev/test/kit/memory"
)

const manager = memory.Manager

var configMaps = schema.GroupResource{Resource: "configmaps"}

// Requests of a round.
const (
	reads     = "GET configmaps/web"
	lists     = "GET configmaps by label"
	announces = "PATCH configmaps/web uid resourceVersion by " + manager + "-applyset"
	unpinned  = "PATCH configmaps/web uid by " + manager + "-applyset"
)

func deletes(name string) string {
	return "DELETE configmaps/" + name + " uid resourceVersion Background"
}

// joins are the requests of the first apply of a member: is it in another set?
func joins(resource, name string) []string {
	return []string{"GET " + resource + "/" + name, "PATCH " + resource + "/" + name}
}

// world is an API server with the parent of a set, the ConfigMap web.
type world struct {
	*memory.World

	mapper map[string]error // by kind: why its versions are not known
}

// newWorld has the parent, and the members that an earlier process emitted.
func newWorld(t *testing.T, members ...string) *world {
	t.Helper()
	w := &world{World: memory.New(t)}
	w.Must(w.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}))
	if len(members) > 0 {
		w.earlier(members...)
	}
	return w
}

// earlier emits ConfigMaps from the parent, as an earlier process.
func (w *world) earlier(names ...string) {
	w.Helper()
	w.earlierRound(emitsConfigMap(names...))
}

func (w *world) earlierRound(emit func() ([]apply.Intent, error)) {
	w.Helper()
	sets := w.setsOf(w.Server.Config(), apply.Policy{})
	w.Must(errors.Join(sets.Apply(w.Context(), w.parent(), emit).Errs...))
}

// versions is a REST mapper that fails as its world says.
type versions struct {
	meta.RESTMapper
	*world
}

func (v versions) RESTMappings(kind schema.GroupKind, of ...string) ([]*meta.RESTMapping, error) {
	if err := v.mapper[kind.Kind]; err != nil {
		return nil, err
	}
	return v.RESTMapper.RESTMappings(kind, of...)
}

func (v versions) RESTMapping(kind schema.GroupKind, of ...string) (*meta.RESTMapping, error) {
	if len(of) == 0 && v.mapper[kind.Kind] != nil { // else a request
		return nil, v.mapper[kind.Kind]
	}
	return v.RESTMapper.RESTMapping(kind, of...)
}

func (w *world) client(config *rest.Config) client.Client {
	w.Helper()
	config.Wrap(apply.RecordExchange)
	mapper := memory.Mapper(schema.GroupVersionKind{Group: "nowhere.example.com", Version: "v1", Kind: "Gadget"}) // which the server does not have
	c, err := client.New(config, client.Options{Scheme: clientgoscheme.Scheme, Mapper: versions{mapper, w}})
	w.Must(err)
	return c
}

func (w *world) setsOf(config *rest.Config, policy apply.Policy) *applyset.Sets {
	w.Helper()
	c := w.client(config)
	applier, err := apply.New(c, apply.Config{FieldManager: manager, LiveReader: c, Policy: policy})
	w.Must(err)
	sets, err := applyset.New(applier)
	w.Must(err)
	return sets
}

// sets is what is under test.
func (w *world) sets(policy apply.Policy) *applyset.Sets {
	w.Helper()
	return w.setsOf(w.Config(), policy)
}

// standing is a round that emits a, of a set that may hold more. Its requests are forgotten.
func (w *world) standing(sets *applyset.Sets) *applyset.Round {
	w.Helper()
	round := sets.Apply(w.Context(), w.parent(), emitsConfigMap("a"))
	w.Must(errors.Join(round.Errs...))
	w.Forget()
	return round
}

// wantNext compares the requests since the last call.
func (w *world) wantNext(want ...string) {
	w.Helper()
	w.WantSent(want...)
	w.Forget()
}

func (w *world) configMap(name string) *corev1.ConfigMap {
	w.Helper()
	object := &corev1.ConfigMap{}
	w.Must(w.Get(w.Context(), client.ObjectKey{Namespace: "shop", Name: name}, object))
	object.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	return object
}

// parent is the parent as an up-to-date cache has it.
func (w *world) parent() *corev1.ConfigMap { w.Helper(); return w.configMap("web") }

// change writes to the metadata of a ConfigMap.
func (w *world) change(name string, change func(*metav1.ObjectMeta)) {
	w.Helper()
	object := w.configMap(name)
	change(&object.ObjectMeta)
	w.Must(w.Update(w.Context(), object, client.FieldOwner("somebody")))
}

// touch writes to a ConfigMap, so that it gets another resourceVersion.
func (w *world) touch(name string) {
	w.Helper()
	w.change(name, func(o *metav1.ObjectMeta) { metav1.SetMetaDataAnnotation(o, "touched", o.ResourceVersion) })
}

// remove deletes a ConfigMap.
func (w *world) remove(name string) { w.Helper(); w.Must(w.Delete(w.Context(), named(name))) }

// hold gives a ConfigMap a finalizer until the end of the test.
func (w *world) hold(name string) {
	w.Helper()
	w.change(name, func(o *metav1.ObjectMeta) { o.Finalizers = []string{"example.com/slow"} })
	w.Cleanup(func() { w.letGo(context.Background(), name) })
}

// letGo removes the finalizers of a ConfigMap.
func (w *world) letGo(ctx context.Context, name string) {
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
	w.Must(client.IgnoreNotFound(w.Patch(ctx, named(name), patch)))
}

// removeSlowly deletes a ConfigMap that has a finalizer, so that the ConfigMap exists until the end of the test.
func (w *world) removeSlowly(name string) { w.Helper(); w.hold(name); w.remove(name) }

// recreateParent makes another parent of that name, which is being deleted if the former parent was.
func (w *world) recreateParent() {
	w.Helper()
	former := w.parent()
	if former.DeletionTimestamp != nil {
		w.letGo(w.Context(), "web")
	} else {
		w.remove("web")
	}
	again := named("web")
	again.Labels, again.Annotations = former.Labels, former.Annotations
	w.Must(w.Create(w.Context(), again))
	if former.DeletionTimestamp != nil {
		w.removeSlowly("web")
	}
}

// own makes the entries the managed fields of a ConfigMap.
func (w *world) own(name string, entries ...metav1.ManagedFieldsEntry) {
	w.Helper()
	memory.OwnAs(w.World, named(name), entries...)
}

func named(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
}

// setID is that of the ConfigMap web in the namespace shop.
var setID = applyset.ID(apply.ObjectRef{
	GroupVersionKind: corev1.SchemeGroupVersion.WithKind("ConfigMap"),
	NamespacedName:   types.NamespacedName{Namespace: "shop", Name: "web"},
})

func emits(intents ...apply.Intent) func() ([]apply.Intent, error) {
	return func() ([]apply.Intent, error) { return intents, nil }
}

func emitsConfigMap(names ...string) func() ([]apply.Intent, error) {
	var intents []apply.Intent
	for _, name := range names {
		intents = append(intents, apply.Intent{Config: corev1ac.ConfigMap(name, "shop")})
	}
	return emits(intents...)
}

// entry is a managed fields entry of a ConfigMap.
func entry(name string, operation metav1.ManagedFieldsOperationType, subresource, fields string) metav1.ManagedFieldsEntry {
	e := memory.Entry(name, operation, subresource, fields)
	e.APIVersion = "v1"
	return e
}

func labelEntry(owner string) metav1.ManagedFieldsEntry {
	return entry(owner, "Apply", "", `{"f:metadata":{"f:labels":{"f:`+applyset.PartOfLabel+`":{}}}}`)
}

// owner is an owner that is not the parent.
var owner = metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: "p", UID: "uid-pod"}

func strs[T interface{ String() string }](all []T) (texts []string) {
	for _, one := range all {
		texts = append(texts, one.String())
	}
	return texts
}

// deployment is the intent of a member with a subresource.
func deployment(name string) *appsv1ac.DeploymentApplyConfiguration {
	labels := map[string]string{"app": name}
	return appsv1ac.Deployment(name, "shop").WithSpec(appsv1ac.DeploymentSpec().
		WithSelector(metav1ac.LabelSelector().WithMatchLabels(labels)).
		WithTemplate(corev1ac.PodTemplateSpec().WithLabels(labels).
			WithSpec(corev1ac.PodSpec().WithContainers(corev1ac.Container().WithName("c").WithImage("i")))))
}

// part is a partial intent for the status of a Deployment.
func part(name string) apply.Intent {
	return apply.Intent{Config: appsv1ac.Deployment(name, "shop").WithStatus(appsv1ac.DeploymentStatus().WithReplicas(1)), Subresource: "status"}
}

// record makes the parent say that it has a set of these kinds, in these namespaces, and these partial intents.
func (w *world) record(parent client.Object, kinds, namespaces, partials string) {
	w.Helper()
	annotations := map[string]string{"applyset.kubernetes.io/tooling": manager + "/v1", "applyset.kubernetes.io/contains-group-kinds": kinds}
	for name, value := range map[string]string{"applyset.kubernetes.io/additional-namespaces": namespaces, partialsName: partials} {
		if value != "" {
			annotations[name] = value
		}
	}
	gvk := corev1.SchemeGroupVersion.WithKind("ConfigMap")
	if _, ok := parent.(*corev1.Namespace); ok {
		gvk.Kind = "Namespace"
	}
	id := applyset.ID(apply.ObjectRef{GroupVersionKind: gvk, NamespacedName: client.ObjectKeyFromObject(parent)})
	parent.SetLabels(map[string]string{"applyset.kubernetes.io/id": id})
	parent.SetAnnotations(annotations)
	w.Must(w.Update(w.Context(), parent, client.FieldOwner("somebody")))
	fields := `{"f:metadata":{"f:labels":{"f:applyset.kubernetes.io/id":{}},"f:annotations":{`
	for name := range annotations {
		fields += `"f:` + name + `":{},`
	}
	memory.OwnAs(w.World, parent, entry(manager+"-applyset", "Apply", "", strings.TrimSuffix(fields, ",")+`}}}`))
	w.Must(w.Get(w.Context(), client.ObjectKeyFromObject(parent), parent))
}

const partialsName = "coapply.dev/partial-intents"

var used atomic.Int64

// fresh returns a name that no test used before.
func fresh(prefix string) string { return fmt.Sprint(prefix, used.Add(1)) }
