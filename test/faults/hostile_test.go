package faults

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/api/v1alpha1"
	"coapply.dev/apply"
	"coapply.dev/apply/contention"
	"coapply.dev/internal/controller/fights"
	"coapply.dev/internal/localcluster"
	"coapply.dev/test/kit"
)

// startOn runs the reconcilers of namespaced kinds on an API server without the controllers of Kubernetes, whose
// namespaces are never emptied.
func startOn(t *testing.T, config *rest.Config) *kit.Platform {
	t.Helper()
	p := &kit.Platform{Client: kit.NewClient(t, config), Writes: &kit.WriteLog{}, Applies: &kit.ApplyLog{}}
	p.Namespace = kit.NewNamespace(t, p.Client)
	p.Run(t, config, apply.Force)
	return p
}

func createSlurm(t *testing.T, p *kit.Platform, name string) {
	t.Helper()
	if err := p.Client.Create(t.Context(), &v1alpha1.SlurmController{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: name},
		Spec: v1alpha1.SlurmControllerSpec{Image: "registry.example.com/slurmctld:1"}}); err != nil {
		t.Fatal(err)
	}
}

// waitForCondition waits until a condition of this generation has a status, and a reason and message that say all that.
func waitForCondition(t *testing.T, p *kit.Platform, object client.Object, name, condition string, status metav1.ConditionStatus, says ...string) {
	t.Helper()
	kit.WaitFor(t, fmt.Sprintf("%s of %s is %s", condition, name, status), func() string {
		p.Get(t, name, object)
		var conditions []metav1.Condition
		switch object := object.(type) {
		case *v1alpha1.Devbox:
			conditions = object.Status.Conditions
		case *v1alpha1.NodeSet:
			conditions = object.Status.Conditions
		case *v1alpha1.SlurmController:
			conditions = object.Status.Conditions
		}
		is := meta.FindStatusCondition(conditions, condition)
		if is == nil || is.Status != status || is.ObservedGeneration != object.GetGeneration() && condition != v1alpha1.ConditionContended {
			return is.String()
		}
		for _, text := range says {
			if !strings.Contains(is.Reason+": "+is.Message, text) {
				return fmt.Sprintf("it does not say %q: %s: %s", text, is.Reason, is.Message)
			}
		}
		return ""
	})
}

// writesIn counts the writes to paths that contain a text while nothing happens that ours could answer.
func writesIn(t *testing.T, p *kit.Platform, moment time.Duration, part string) int {
	t.Helper()
	before := len(p.Writes.About(part))
	kit.Absence(t, moment, "too many writes")
	return len(p.Writes.About(part)) - before
}

const forgers, fieldsEach = 200, 50

// TestForgedManagers: 200 field managers with 50 fields each claim fields of a Deployment of ours, a third of them at a
// version that no API server serves any more, which the server drops. What ours rejects is one condition and no further
// write, what it forces is its own, and once the entries are gone everything lands.
func TestForgedManagers(t *testing.T) {
	kit.ForSoak(t)
	t.Parallel()
	p := startOn(t, kit.Server(t))
	p.Create(t, "x")
	kit.WaitFor(t, "the Devbox is applied", func() string {
		return kit.UnlessApplied(p.Get(t, "x", &v1alpha1.Devbox{}).(*v1alpha1.Devbox))
	})
	p.Quiet(t, quiet)
	before := len(p.Writes.About("/deployments/x"))
	forge(t, p, "x")
	forged := 0
	for _, entry := range p.Get(t, "x", &appsv1.Deployment{}).GetManagedFields() {
		if strings.HasPrefix(entry.Manager, "forged-") {
			forged++
		}
	}
	if want := forgers - forgers/3 - 1; forged != want {
		t.Errorf("the API server keeps %d of the forged managers, want %d", forged, want)
	}
	waitForCondition(t, p, &v1alpha1.Devbox{}, "x", v1alpha1.ConditionWorkloadApplied, metav1.ConditionTrue, "Shared", "forged-1/Apply")
	p.Quiet(t, quiet)
	if after := len(p.Writes.About("/deployments/x")); after > before {
		t.Errorf("%d writes to a Deployment that is as wanted", after-before)
	}

	p.Patch(t, &v1alpha1.Devbox{}, "x", `{"spec":{"image":"registry.example.com/dev:2"}}`)
	waitForCondition(t, p, &v1alpha1.Devbox{}, "x", v1alpha1.ConditionWorkloadApplied, metav1.ConditionFalse,
		"OwnershipConflict", `.spec.template.spec.containers[name="devbox"].image`, "forged-1/Apply")
	p.Quiet(t, quiet)
	rejected := writesIn(t, p, lasts, "/deployments/x")
	before = len(p.Writes.About("/deployments/x"))
	p.Patch(t, &v1alpha1.Devbox{}, "x", `{"spec":{"state":"Stopped"}}`)
	kit.WaitFor(t, "power has its field", func() string {
		owners, n := kit.OwnersOf(t, p.Client, p.Namespace, "x", ".spec.replicas"), kit.LiveReplicas(t, p.Client, p.Namespace, "x")
		if len(owners) != 1 || owners[0] != "coapply-devbox-power/Apply" || n != 0 {
			return fmt.Sprint(n, " replicas, owned by ", owners)
		}
		return ""
	})
	p.Quiet(t, quiet)
	forced := len(p.Writes.About("/deployments/x")) - before
	createSlurm(t, p, "y")
	waitForCondition(t, p, &v1alpha1.SlurmController{}, "y", v1alpha1.ConditionApplied, metav1.ConditionTrue)

	unforge(t, p, "x")
	waitForCondition(t, p, &v1alpha1.Devbox{}, "x", v1alpha1.ConditionWorkloadApplied, metav1.ConditionTrue)
	p.Quiet(t, quiet)
	told := len(p.Writes.About("/events"))
	t.Logf("counted: %d forged managers of %d fields: %d writes in %v while rejected, %d to force, %d events", forged, forged*fieldsEach, rejected, lasts, forced, told)
	if rejected > 1 || forced > 6 || told > 20 {
		t.Errorf("%d writes in %v while rejected, want 1 at most; %d to force, want 6 at most; %d events, want 20 at most", rejected, lasts, forced, told)
	}
}

// forge has many managers claim image and replicas of a Deployment, and annotations that it does not have.
func forge(t *testing.T, p *kit.Platform, name string) {
	t.Helper()
	before := kit.LiveAt(t, p.Client, kit.DeploymentRef(p.Namespace, name))
	after := before.DeepCopy()
	entries := after.GetManagedFields()
	for i := range forgers {
		var annotations []string
		for j := range fieldsEach - 2 {
			annotations = append(annotations, fmt.Sprintf(`"f:forged-%d-%d":{}`, i, j))
		}
		version := "apps/v1"
		if i%3 == 0 {
			version = "apps/v1beta1"
		}
		entries = append(entries, metav1.ManagedFieldsEntry{
			Manager: fmt.Sprint("forged-", i), Operation: metav1.ManagedFieldsOperationApply, APIVersion: version, FieldsType: "FieldsV1",
			FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:annotations":{` + strings.Join(annotations, ",") + `}},` +
				`"f:spec":{"f:replicas":{},"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"devbox\"}":{"f:image":{}}}}}}}`),
		})
	}
	after.SetManagedFields(entries)
	if err := p.Client.Patch(t.Context(), after, client.MergeFrom(before), client.FieldOwner("forger")); err != nil {
		t.Fatal(err)
	}
}

func unforge(t *testing.T, p *kit.Platform, name string) {
	t.Helper()
	before := kit.LiveAt(t, p.Client, kit.DeploymentRef(p.Namespace, name))
	after := before.DeepCopy()
	after.SetManagedFields(slices.DeleteFunc(after.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool {
		return strings.HasPrefix(e.Manager, "forged-")
	}))
	if err := p.Client.Patch(t.Context(), after, client.MergeFrom(before), client.FieldOwner("forger")); err != nil {
		t.Fatal(err)
	}
}

// TestTerminatingNamespace: where nothing new may be created one condition says so, what is there goes on being changed,
// and the API server is not asked again and again.
func TestTerminatingNamespace(t *testing.T) {
	kit.ForSoak(t)
	t.Parallel()
	p := startOn(t, kit.Server(t))
	createSlurm(t, p, "x")
	waitForCondition(t, p, &v1alpha1.SlurmController{}, "x", v1alpha1.ConditionApplied, metav1.ConditionTrue)
	p.Quiet(t, quiet)
	for _, gone := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.Namespace}},
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: "x-controller"}},
	} {
		if err := p.Client.Delete(t.Context(), gone); err != nil {
			t.Fatal(err)
		}
	}
	waitForCondition(t, p, &v1alpha1.SlurmController{}, "x", v1alpha1.ConditionApplied, metav1.ConditionFalse, "NamespaceTerminating", "x-controller")
	p.Patch(t, &v1alpha1.SlurmController{}, "x", `{"spec":{"image":"registry.example.com/slurmctld:2"}}`)
	kit.WaitFor(t, "the StatefulSet has the new image", func() string {
		set := p.Get(t, "x", &appsv1.StatefulSet{}).(*appsv1.StatefulSet)
		return strings.TrimSuffix(set.Spec.Template.Spec.Containers[0].Image, "registry.example.com/slurmctld:2")
	})
	waitForCondition(t, p, &v1alpha1.SlurmController{}, "x", v1alpha1.ConditionApplied, metav1.ConditionFalse, "NamespaceTerminating", "x-controller")
	p.Quiet(t, quiet)
	asked := writesIn(t, p, lasts, p.Namespace)
	t.Logf("counted: terminating namespace: %d writes in %v", asked, lasts)
	if asked > 1 {
		t.Errorf("%d writes in %v, want 1 at most", asked, lasts)
	}
}

// TestNamespaceGoes deletes a namespace with a Devbox, which has finalizers, and a NodeSet, which makes pods again that
// somebody deletes: it goes.
func TestNamespaceGoes(t *testing.T) {
	kit.ForSoak(t)
	t.Parallel()
	parents := []scenario{devboxes()[0], nodeSets()[0]}
	w := newWorld(t, &parents[0])
	w.start()
	for _, parent := range parents {
		parent.does.do(w)
		w.becomes(parent.kind, func() string { return parent.does.done(w) })
	}
	w.Quiet(t, quiet)
	w.wire.Arm(nil, nil)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace}}
	w.delete(namespace)
	w.becomes("the Namespace is gone", func() string {
		err := w.Client.Get(t.Context(), client.ObjectKeyFromObject(namespace), namespace)
		if !apierrors.IsNotFound(err) {
			return fmt.Sprint(namespace.Status.Conditions, err)
		}
		return ""
	})
	w.Quiet(t, quiet)
	writes := 0
	for _, request := range w.wire.Requests() {
		if request.IsWrite() {
			writes++
		}
	}
	t.Logf("counted: a namespace with two parents that goes: %d writes of ours", writes)
	if writes > 60 {
		t.Errorf("%d writes, want 60 at most: %v", writes, w.wire.Requests())
	}
}

// TestCRDRemoved takes a definition of ours away from a manager that runs, and brings it back: another kind does not
// notice, the API server is asked less and less, and the manager goes on without a restart.
func TestCRDRemoved(t *testing.T) {
	kit.ForSoak(t)
	t.Parallel()
	server, err := localcluster.StartAPIServer(t.Context(), kit.StartLog())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Stop(context.WithoutCancel(t.Context())) })
	if _, err := kit.InstallCRDs(server.Config(), kit.OurCRDs()); err != nil {
		t.Fatal(err)
	}
	config := server.Config()
	var asked atomic.Int64
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			if strings.Contains(request.URL.Path, "/nodesets") {
				asked.Add(1)
			}
			return next.RoundTrip(request)
		})
	})
	p := startOn(t, config)
	createNodeSet(t, p, "x")
	createSlurm(t, p, "x")
	waitForCondition(t, p, &v1alpha1.SlurmController{}, "x", v1alpha1.ConditionApplied, metav1.ConditionTrue)

	removeCRD(t, server.Config(), "nodesets.platform.coapply.dev")
	asked.Store(0)
	const without = 10 * time.Second
	kit.Absence(t, without, "too many requests")
	n := asked.Load()
	p.Patch(t, &v1alpha1.SlurmController{}, "x", `{"spec":{"port":7000}}`)
	waitForCondition(t, p, &v1alpha1.SlurmController{}, "x", v1alpha1.ConditionApplied, metav1.ConditionTrue)
	if ports := p.Get(t, "x-controller", &corev1.Service{}).(*corev1.Service).Spec.Ports; len(ports) != 1 || ports[0].Port != 7000 {
		t.Errorf("the other kind is not reconciled: %v", ports)
	}
	if _, err := kit.InstallCRDs(server.Config(), kit.OurCRDs()); err != nil {
		t.Fatal(err)
	}
	createNodeSet(t, p, "y") // nobody collects the pods of x here
	t.Logf("counted: a definition removed: %d requests for the kind in %v", n, without)
	if n == 0 || n > 30 {
		t.Errorf("%d requests in %v, want 1 to 30", n, without)
	}
}

func createNodeSet(t *testing.T, p *kit.Platform, name string) {
	t.Helper()
	if err := p.Client.Create(t.Context(), &v1alpha1.NodeSet{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: name},
		Spec: v1alpha1.NodeSetSpec{Image: "registry.example.com/slurmd:1", Replicas: new(int32(1))}}); err != nil {
		t.Fatal(err)
	}
	waitForCondition(t, p, &v1alpha1.NodeSet{}, name, v1alpha1.ConditionApplied, metav1.ConditionTrue)
}

func removeCRD(t *testing.T, config *rest.Config, name string) {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := c.Delete(t.Context(), crd); err != nil {
		t.Fatal(err)
	}
	kit.WaitFor(t, name+" is gone", func() string {
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(crd), crd); !apierrors.IsNotFound(err) {
			return fmt.Sprint(crd.Status.Conditions, err)
		}
		return ""
	})
}

// TestForcedTenTimesASecond has a neighbour force a field of ours ten times a second, with the times that the platform has:
// it is named in the condition, ours lets go, and everything else of the Devbox goes on.
func TestForcedTenTimesASecond(t *testing.T) {
	kit.ForSoak(t)
	t.Parallel()
	create := devboxes()[0]
	w := newWorld(t, &create)
	var err error
	if w.Contention, err = contention.New(fights.Config()); err != nil {
		t.Fatal(err)
	}
	w.start()
	create.does.do(w)
	w.becomes("the Devbox runs", func() string { return create.does.done(w) })
	w.Quiet(t, quiet)
	began := len(w.Writes.About("/deployments/x"))
	ctx, stop := context.WithCancel(t.Context())
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		for tick := time.NewTicker(100 * time.Millisecond); ctx.Err() == nil; <-tick.C {
			_ = w.Client.Apply(ctx, kit.Replicas("x", w.Namespace, 3), client.FieldOwner("neighbour"), client.ForceOwnership)
		}
	}()
	defer func() { stop(); <-stopped }()
	waitForCondition(t, w.Platform, &v1alpha1.Devbox{}, "x", v1alpha1.ConditionContended, metav1.ConditionTrue,
		"OwnershipFight", ".spec.replicas of Deployment", "coapply-devbox-power/Apply", "neighbour/Apply")
	w.patch(emptyDevbox(), `{"spec":{"image":"registry.example.com/dev:2"}}`)
	kit.WaitFor(t, "the image lands all the same", func() string {
		deployment := w.Platform.Get(t, "x", &appsv1.Deployment{}).(*appsv1.Deployment)
		return strings.TrimSuffix(deployment.Spec.Template.Spec.Containers[0].Image, "registry.example.com/dev:2")
	})
	until := len(w.Writes.About("/deployments/x")) - began
	after := writesIn(t, w.Platform, lasts, "/deployments/x")
	t.Logf("counted: forced ten times a second: %d writes of ours until it was named, %d in %v after that", until, after, lasts)
	if until > 40 || after > 1 {
		t.Errorf("%d writes until it was named, want 40 at most; %d in %v after that, want 1 at most", until, after, lasts)
	}
}
