package faults

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/internal/localcluster"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/test/kit"
)

// TestTerminatingNamespace: where nothing new may be created one condition says so, what is there goes on being changed,
// and the API server is not asked again and again.
func TestTerminatingNamespace(t *testing.T) {
	once(t)
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
	count(t, "%d writes in %v", asked, lasts)
	if asked > 1 {
		t.Errorf("%d writes in %v, want 1 at most", asked, lasts)
	}
}

// TestNamespaceGoes deletes a namespace with a Devbox, which has finalizers, and a NodeSet, which makes pods again that
// somebody deletes: it goes.
func TestNamespaceGoes(t *testing.T) {
	once(t)
	t.Parallel()
	parents := []scenario{devboxes()[0], nodeSets()[0]}
	w := parents[0].begin(t)
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
	writes := writesOf(w.wire.Requests())
	count(t, "%d writes of ours", writes)
	if writes > 60 {
		t.Errorf("%d writes, want 60 at most: %v", writes, w.wire.Requests())
	}
}

// TestCRDRemoved takes a definition of ours away from a manager that runs, and brings it back: another kind does not
// notice, the API server is asked less and less, and the manager goes on without a restart.
func TestCRDRemoved(t *testing.T) {
	once(t)
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
		return kit.RoundTripper(func(request *http.Request) (*http.Response, error) {
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
	count(t, "%d requests for the kind in %v", n, without)
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
	c := kit.NewClient(t, config)
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
