package platform

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply/reconciler"
	"coapply.dev/fieldowners"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/user"
	"coapply.dev/test/kit"
)

// person is a User of a test on the platform that all tests share, with its License.
type person struct {
	*kit.Platform

	t    *testing.T
	name string
}

// newPerson returns one whose name begins so, is new, and is the beginning of nobody else's name.
func newPerson(t *testing.T, name string) person {
	t.Helper()
	name = kit.Unique(name)
	p := person{kit.WholePlatform(t), t, name}
	kit.InstallRBAC(t, p.Client, "devbox_editor_role.yaml", &rbacv1.ClusterRole{})
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("written about %s: %v", name, p.Writes.About(name))
		}
	})
	return p
}

func (p person) namespaceName() string { return user.NamespaceOf(p.name) }

func (p person) createUser() {
	p.t.Helper()
	ada := &v1alpha1.User{ObjectMeta: metav1.ObjectMeta{Name: p.name}, Spec: v1alpha1.UserSpec{DisplayName: "Ada Lovelace"}}
	if err := p.Client.Create(p.t.Context(), ada); err != nil {
		p.t.Fatal(err)
	}
}

// read fills an object by its name; those with a namespace are in the person's.
func (p person) read(name string, object client.Object) {
	p.t.Helper()
	if err := p.find(name, object); err != nil {
		p.t.Fatal(err)
	}
}

func (p person) find(name string, object client.Object) error {
	key := client.ObjectKey{Name: name}
	if namespaced, err := p.Client.IsObjectNamespaced(object); err != nil {
		return err
	} else if namespaced {
		key.Namespace = p.namespaceName()
	}
	return p.Client.Get(p.t.Context(), key, object)
}

// become waits for the status of the User or the License.
func (p person) become(what string, object client.Object, missing func() string) {
	p.t.Helper()
	kit.WaitFor(p.t, what, func() string {
		p.read(p.name, object)
		return missing()
	})
}

func (p person) userIsComplete() *v1alpha1.User {
	p.t.Helper()
	var ada v1alpha1.User
	p.become("the User is complete", &ada, func() string {
		if ada.Status.Namespace == "" || !meta.IsStatusConditionTrue(ada.Status.Conditions, v1alpha1.ConditionApplied) {
			return fmt.Sprintf("%+v", ada.Status)
		}
		return ""
	})
	return &ada
}

// gone waits until an object is there no more.
func (p person) gone(name string, object client.Object) {
	p.t.Helper()
	kit.WaitFor(p.t, fmt.Sprintf("%T %s is gone", object, name), func() string {
		if err := p.find(name, object); !apierrors.IsNotFound(err) {
			return fmt.Sprint(err, object.GetFinalizers())
		}
		return ""
	})
}

// meddle changes an object as somebody else.
func (p person) meddle(object client.Object, patch string) {
	p.t.Helper()
	err := p.Client.Patch(p.t.Context(), object, client.RawPatch("application/merge-patch+json", []byte(patch)), client.FieldOwner("kubectl-edit"))
	if err != nil {
		p.t.Fatal(err)
	}
}

// pause has the reconcilers leave the User or the License alone.
func (p person) pause(object client.Object) {
	p.t.Helper()
	p.meddle(object.DeepCopyObject().(client.Object), `{"metadata":{"annotations":{"`+reconciler.PausedAnnotation+`":"true"}}}`)
	seen := object.DeepCopyObject().(client.Object)
	kit.WaitFor(p.t, "the reconcilers see the pause", func() string { // which may come after other news
		if err := p.Cached.Get(p.t.Context(), client.ObjectKey{Name: p.name}, seen); err != nil {
			return err.Error()
		}
		if seen.GetAnnotations()[reconciler.PausedAnnotation] != "true" {
			return "not yet"
		}
		return ""
	})
}

func (p person) resume(object client.Object) {
	p.t.Helper()
	p.meddle(object.DeepCopyObject().(client.Object), `{"metadata":{"annotations":{"`+reconciler.PausedAnnotation+`":null}}}`)
}

// owners gives who owns a field of the person's Namespace.
func (p person) owners(path string) string {
	p.t.Helper()
	var namespace corev1.Namespace
	p.read(p.namespaceName(), &namespace)
	ownership, err := fieldowners.Parse(namespace.ManagedFields)
	if err != nil {
		p.t.Fatal(err)
	}
	var owners []string
	for _, manager := range ownership.OwnersOf(fieldowners.MustParsePath(path)) {
		owners = append(owners, manager.String())
	}
	return strings.Join(owners, " ")
}

// atRest waits until the platform has written nothing to what is the person's for three seconds. On a busy machine the
// last write may come late: only writes without an end are a mistake.
func (p person) atRest() {
	p.t.Helper()
	kit.WaitFor(p.t, "the platform rests", func() string {
		before := len(p.Writes.About(p.name))
		kit.Absence(p.t, 3*time.Second, "more writes")
		return strings.Join(p.Writes.About(p.name)[before:], "\n")
	})
}

func newPod(namespace, name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "registry.example.com/c:1"}}},
	}
}
