package faults

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/user"
	"coapply.dev/test/kit"
)

// world is one run of a scenario: names, a namespace and managers of its own on a control plane that all share.
type world struct {
	*kit.Platform

	t    *testing.T
	as   string // who the manager is; "" is the account that it is installed with
	host string // what the manager connects to; "" is the API server

	wiped bool   // of managed fields: before-first-apply owns what the API server set itself
	name  string // of what is without a namespace, and a part of that of the namespace
	wire  *Wire  // of the manager that runs now
	stop  func()
}

func newWorld(t *testing.T, s *scenario) *world {
	t.Helper()
	config := kit.Cluster(t).Config()
	w := &world{t: t, wire: NewWire(""), name: "f-" + strings.ToLower(rand.Text())[:10]}
	w.Platform = &kit.Platform{Client: kit.NewClient(t, config)}
	if s.clusterWide {
		w.See = w.onlyMine
	} else {
		w.Namespace = w.name
		w.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace}})
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("met: %v\nrequests: %v", w.wire.Met(), w.wire.Requests())
		}
		if w.Namespace != "" { // or the control plane gets slower from case to case, as it also does with a finalizer that nobody removes
			ctx, devbox := context.WithoutCancel(t.Context()), &v1alpha1.Devbox{ObjectMeta: w.meta()}
			_ = w.Client.Patch(ctx, devbox, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`)))
			_ = w.Client.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace}})
		}
	})
	return w
}

// onlyMine narrows what the manager of a scenario without a namespace watches, as others run beside it.
func (w *world) onlyMine(options *cache.Options) {
	named := func(name string) cache.ByObject {
		return cache.ByObject{Field: fields.OneTermEqualSelector("metadata.name", name)}
	}
	options.DefaultNamespaces = map[string]cache.Config{user.NamespaceOf(w.name): {}}
	options.ByObject = map[client.Object]cache.ByObject{
		&v1alpha1.User{}:            named(w.name),
		&v1alpha1.License{}:         named(w.name),
		&v1alpha1.NodeMaintenance{}: named(w.name),
		&corev1.Namespace{}:         named(user.NamespaceOf(w.name)),
		&corev1.Node{}:              named(w.name),
	}
}

// start runs a manager with a wire of its own.
func (w *world) start() {
	w.t.Helper()
	w.wire = NewWire(w.name)
	config := kit.AsManager(w.t, w.Client, kit.Cluster(w.t).Config())
	config.ContentType, config.AcceptContentTypes = "application/json", "application/json" // which a Wire reads
	if w.as != "" {
		config.Impersonate = rest.ImpersonationConfig{UserName: w.as}
	}
	if w.host != "" {
		config.Host = w.host
	}
	config.Wrap(w.wire.Wrap)
	w.stop = w.Run(w.t, config, apply.Force)
	kit.WaitFor(w.t, "the manager sees the world", func() string {
		for _, list := range seen {
			if err := w.Cached.List(w.t.Context(), list.DeepCopyObject().(client.ObjectList)); err != nil {
				return err.Error()
			}
		}
		return ""
	})
}

// seen are lists that the manager of any scenario caches.
var seen = []client.ObjectList{
	&v1alpha1.DevboxList{}, &v1alpha1.NodeSetList{}, &v1alpha1.SlurmControllerList{}, &corev1.PodList{},
	&corev1.ServiceList{}, &appsv1.DeploymentList{}, &appsv1.StatefulSetList{},
}

// succeed starts another manager once the first is cut off.
func (w *world) succeed() {
	w.t.Helper()
	select {
	case <-w.wire.Dead():
	case <-time.After(time.Minute):
		w.t.Fatalf("the manager was not killed: %v", w.wire.Requests())
	}
	w.stop()
	w.start()
}

// writesOf returns how many of the requests are writes.
func writesOf(requests []Request) (n int) {
	for _, request := range requests {
		if request.IsWrite() {
			n++
		}
	}
	return n
}

func (w *world) meta() metav1.ObjectMeta {
	if w.Namespace == "" {
		return metav1.ObjectMeta{Name: w.name}
	}
	return metav1.ObjectMeta{Namespace: w.Namespace, Name: "x"}
}

func (w *world) create(object client.Object) {
	w.t.Helper()
	if err := w.Client.Create(w.t.Context(), object, client.FieldOwner("person")); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) patch(object client.Object, body string) {
	w.t.Helper()
	object.SetNamespace(w.meta().Namespace)
	object.SetName(w.meta().Name)
	if err := w.Client.Patch(w.t.Context(), object, client.RawPatch("application/merge-patch+json", []byte(body)), client.FieldOwner("person")); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) remove(object client.Object) {
	w.t.Helper()
	object.SetNamespace(w.meta().Namespace)
	object.SetName(w.meta().Name)
	if err := w.Client.Delete(w.t.Context(), object); err != nil {
		w.t.Fatal(err)
	}
}

// get reads the object of the scenario.
func (w *world) get(object client.Object) error {
	m := w.meta()
	return w.Client.Get(w.t.Context(), client.ObjectKey{Namespace: m.Namespace, Name: m.Name}, object)
}

// becomes waits until reached returns "".
func (w *world) becomes(what string, reached func() string) {
	w.t.Helper()
	kit.WaitFor(w.t, what, func() string {
		if missing := reached(); missing != "" {
			return fmt.Sprintf("%s (met: %v)", missing, w.wire.Met())
		}
		return ""
	})
}

// wipe empties the managed fields of all objects of a kind.
func (w *world) wipe(kind schema.GroupVersionKind) {
	w.t.Helper()
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind)
	if err := w.Client.List(w.t.Context(), list, client.InNamespace(w.Namespace)); err != nil {
		w.t.Fatal(err)
	}
	for i := range list.Items {
		patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"managedFields":[{}]}}`))
		if err := w.Client.Patch(w.t.Context(), &list.Items[i], patch); client.IgnoreNotFound(err) != nil {
			w.t.Fatal(err)
		}
	}
}
