package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/license"
	"coapply.dev/platform/controllers/slurmcontroller"
	"coapply.dev/platform/controllers/user"
	"coapply.dev/test/kit"
)

// birthIntruder is somebody else who makes an object of a name that one of ours is about to
// have, at a point of the reconcile: before the n-th request of the manager's since the
// parent was created or, with n = 0, between all looks at the name and the write to it.
type birthIntruder struct {
	client client.Client

	mu     sync.Mutex
	path   string // of the object, in the API
	object client.Object
	point  int
	seen   int
	made   bool // or somebody was faster
	err    error
}

func (i *birthIntruder) wrap(next http.RoundTripper) http.RoundTripper {
	return kit.RoundTripper(func(request *http.Request) (*http.Response, error) {
		i.before(request)
		return next.RoundTrip(request)
	})
}

func (i *birthIntruder) before(request *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.object == nil || i.made || request.URL.Query().Has("watch") || strings.Contains(request.URL.Path, "/events") {
		return
	}
	i.seen++
	if i.point > 0 && i.seen < i.point || i.point == 0 && (request.Method != http.MethodPatch || request.URL.Path != i.path) {
		return
	}
	err := i.client.Create(context.Background(), i.object, client.FieldOwner("intruder"))
	if apierrors.IsNotFound(err) { // its Namespace is not there yet
		return
	}
	i.made, i.err = true, err
}

func (i *birthIntruder) intend(path string, object client.Object, point int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.path, i.object, i.point, i.seen, i.made, i.err = path, object, point, 0, false, nil
}

// intruded reports whether the intruder was first.
func (i *birthIntruder) intruded() (first, decided bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.made && i.err == nil, i.made
}

// birthCase is a child of a parent, with the parent and whoever else is called for.
type birthCase struct {
	child   string
	parents func(name string) []client.Object // the last one's child it is
	path    string                            // %s is the name
	foreign func(name string) client.Object
}

func meta1(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

func birthCases(namespace string) []birthCase {
	ada := func(name string) []client.Object {
		return []client.Object{&v1alpha1.User{ObjectMeta: meta1("", name)}}
	}
	box := func(name string) []client.Object {
		return []client.Object{&v1alpha1.Devbox{ObjectMeta: meta1(namespace, name), Spec: v1alpha1.DevboxSpec{Image: "registry.example.com/a:1", State: v1alpha1.DevboxRunning}}}
	}
	slurm := func(name string) []client.Object {
		return []client.Object{&v1alpha1.SlurmController{ObjectMeta: meta1(namespace, name), Spec: v1alpha1.SlurmControllerSpec{Image: "registry.example.com/a:1"}}}
	}
	pod := corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "registry.example.com/other:1"}}}
	labels := map[string]string{"app": "other"}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: pod}
	inOurs := "/api/v1/namespaces/" + namespace
	return []birthCase{
		{"Namespace", ada, "/api/v1/namespaces/user-%s", func(name string) client.Object {
			return &corev1.Namespace{ObjectMeta: meta1("", user.NamespaceOf(name))}
		}},
		{"ServiceAccount", ada, "/api/v1/namespaces/user-%s/serviceaccounts/" + user.Account, func(name string) client.Object {
			return &corev1.ServiceAccount{ObjectMeta: meta1(user.NamespaceOf(name), user.Account)}
		}},
		{"RoleBinding", ada, "/apis/rbac.authorization.k8s.io/v1/namespaces/user-%s/rolebindings/" + user.Account, func(name string) client.Object {
			return &rbacv1.RoleBinding{ObjectMeta: meta1(user.NamespaceOf(name), user.Account), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"}}
		}},
		{"ResourceQuota", func(name string) []client.Object {
			return append(ada(name), &v1alpha1.License{ObjectMeta: meta1("", name), Spec: v1alpha1.LicenseSpec{Limits: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("1")}}})
		}, "/api/v1/namespaces/user-%s/resourcequotas/" + license.Quota, func(name string) client.Object {
			return &corev1.ResourceQuota{ObjectMeta: meta1(user.NamespaceOf(name), license.Quota)}
		}},
		{"Deployment", box, "/apis/apps/v1/namespaces/" + namespace + "/deployments/%s", func(name string) client.Object {
			return &appsv1.Deployment{ObjectMeta: meta1(namespace, name), Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template}}
		}},
		{"Service of a Devbox", box, inOurs + "/services/%s", func(name string) client.Object {
			return &corev1.Service{ObjectMeta: meta1(namespace, name), Spec: corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone}}
		}},
		{"StatefulSet", slurm, "/apis/apps/v1/namespaces/" + namespace + "/statefulsets/%s", func(name string) client.Object {
			return &appsv1.StatefulSet{ObjectMeta: meta1(namespace, name), Spec: appsv1.StatefulSetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template}}
		}},
		{"Service of a SlurmController", slurm, inOurs + "/services/%s-controller", func(name string) client.Object {
			return &corev1.Service{ObjectMeta: meta1(namespace, slurmcontroller.ServiceName(name)), Spec: corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone}}
		}},
		{"Pod", func(name string) []client.Object {
			return append(slurm(name+"-slurm"), &v1alpha1.NodeSet{ObjectMeta: meta1(namespace, name), Spec: v1alpha1.NodeSetSpec{
				ControllerName: name + "-slurm", Replicas: new(int32(1)), Image: "registry.example.com/a:1"}})
		}, inOurs + "/pods/%s-0", func(name string) client.Object {
			return &corev1.Pod{ObjectMeta: meta1(namespace, name+"-0"), Spec: pod}
		}},
	}
}

// TestBirthAgainstIntruders has somebody else make an object of each name that a child of
// each kind is about to have, at points of the reconcile up to the very write. It is
// never written to, the parent says so, and it outlives the parent.
func TestBirthAgainstIntruders(t *testing.T) {
	t.Parallel()
	config := kit.Server(t)
	i := &birthIntruder{client: kit.NewClient(t, config)}
	p := &kit.Platform{
		Client: i.client, Config: func() *rest.Config { return kit.Server(t) }, See: births,
	}
	kit.InstallRBAC(t, p.Client, "devbox_editor_role.yaml", &rbacv1.ClusterRole{})
	config.Wrap(i.wrap)
	namespace := kit.NewNamespace(t, p.Client)
	p.Run(t, config, apply.Force)
	for n, c := range birthCases(namespace) {
		t.Run(c.child, func(t *testing.T) {
			first := 0
			for _, point := range []int{0, 1, 2, 3} {
				if c.intrude(t, p, i, kit.Unique(fmt.Sprintf("birth-%d-%d", n, point)), point) {
					first++
				}
			}
			if first == 0 {
				t.Error("the intruder was never first: nothing was tried")
			}
		})
	}
}

// birthLabel is on every parent of this test: other tests have theirs on the same API server.
const birthLabel = "birth.coapply.dev"

func births(options *cache.Options) {
	ours, err := labels.NewRequirement(birthLabel, selection.Exists, nil)
	if err != nil {
		panic(err)
	}
	options.ByObject = map[client.Object]cache.ByObject{}
	for _, parent := range []client.Object{
		&v1alpha1.User{}, &v1alpha1.License{}, &v1alpha1.Devbox{}, &v1alpha1.SlurmController{}, &v1alpha1.NodeSet{}, &v1alpha1.NodeMaintenance{},
	} {
		options.ByObject[parent] = cache.ByObject{Label: labels.NewSelector().Add(*ours)}
	}
}

// intrude is one object at one point. It reports whether the intruder was first.
func (c birthCase) intrude(t *testing.T, p *kit.Platform, i *birthIntruder, name string, point int) bool {
	t.Helper()
	foreign, path := c.foreign(name), c.path
	if strings.Contains(path, "%s") {
		path = fmt.Sprintf(path, name)
	}
	i.intend(path, foreign, point)
	parents := c.parents(name)
	parent := parents[len(parents)-1]
	for _, object := range parents {
		object.SetLabels(map[string]string{birthLabel: ""})
		if err := p.Client.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	first := false
	kit.WaitFor(t, "the name is taken", func() string {
		var decided bool
		if first, decided = i.intruded(); !decided {
			return fmt.Sprintf("nobody has made %s: %v", path, p.Writes.About(name))
		}
		return ""
	})
	if !first {
		if i.err != nil && !apierrors.IsAlreadyExists(i.err) {
			t.Errorf("point %d: %v", point, i.err)
		}
		return false
	}
	kit.WaitFor(t, fmt.Sprintf("point %d: %T says whose it is", point, parent), func() string {
		if err := p.Client.Get(t.Context(), client.ObjectKeyFromObject(parent), parent); err != nil {
			return err.Error()
		}
		status, err := json.Marshal(parent)
		if err != nil || !strings.Contains(string(status), "someone else") {
			return fmt.Sprintf("%s %v", status, err)
		}
		return ""
	})
	wantUntouched(t, p, foreign, point)
	for _, object := range parents {
		if err := p.Client.Delete(t.Context(), object); err != nil {
			t.Fatal(err)
		}
		kit.WaitFor(t, "the parent is gone", func() string {
			collect(t, p, object)
			if err := p.Client.Get(t.Context(), client.ObjectKeyFromObject(object), object); !apierrors.IsNotFound(err) {
				return fmt.Sprint(err, object.GetFinalizers())
			}
			return ""
		})
	}
	wantUntouched(t, p, foreign, point)
	return true
}

// collect does for a Devbox's Deployment what the garbage collector does, which is not
// there: it lets go of what is deleted in the foreground.
func collect(t *testing.T, p *kit.Platform, parent client.Object) {
	t.Helper()
	deployment := &appsv1.Deployment{ObjectMeta: meta1(parent.GetNamespace(), parent.GetName())}
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
	if err := p.Client.Get(t.Context(), client.ObjectKeyFromObject(deployment), deployment); err == nil && deployment.DeletionTimestamp != nil {
		if err := p.Client.Patch(t.Context(), deployment, patch); client.IgnoreNotFound(err) != nil {
			t.Error(err)
		}
	}
}

func wantUntouched(t *testing.T, p *kit.Platform, foreign client.Object, point int) {
	t.Helper()
	made := foreign.GetUID()
	live := foreign.DeepCopyObject().(client.Object)
	if err := p.Client.Get(t.Context(), client.ObjectKeyFromObject(foreign), live); err != nil {
		t.Errorf("point %d: %v", point, err)
		return
	}
	for _, entry := range live.GetManagedFields() {
		if strings.HasPrefix(entry.Manager, "coapply") {
			t.Errorf("point %d: %s owns %s of it", point, entry.Manager, entry.FieldsV1.GetRawBytes())
		}
	}
	if live.GetUID() != made || len(live.GetOwnerReferences()) > 0 || live.GetDeletionTimestamp() != nil {
		t.Errorf("point %d: it was taken: %+v", point, live)
	}
}
