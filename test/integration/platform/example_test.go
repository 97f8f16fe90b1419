package platform

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"coapply.dev/examples/website"
	"coapply.dev/test/kit"
)

// TestWebsite runs the program of docs/writing-a-reconciler.md.
func TestWebsite(t *testing.T) {
	t.Parallel()
	w := startWebsite(t)
	for _, step := range []struct {
		what string
		run  func(*testing.T)
	}{
		{"it converges", w.converges},
		{"the page is taken back", w.drift},
		{"the fields of others stay", w.foreignFields},
		{"an unchanged reconcile sends nothing", w.unchanged},
		{"a conflict is told, and heals", w.conflict},
		{"the Deployment goes before the Website", w.deletion},
	} {
		if !t.Run(step.what, step.run) {
			return // each begins where the one before ended
		}
	}
}

type websiteWorld struct {
	client   client.Client
	recorder *kit.Recorder // of the program's requests
	key      client.ObjectKey
	child    client.ObjectKey
}

func startWebsite(t *testing.T) *websiteWorld {
	t.Helper()
	restConfig := kit.Cluster(t).Config()
	crd := kit.File("examples", "website", "crd.yaml")
	if _, err := kit.InstallCRDs(restConfig, envtest.CRDInstallOptions{Paths: []string{crd}, ErrorIfPathMissing: true}); err != nil {
		t.Fatal(err)
	}
	c := kit.NewClient(t, restConfig)
	namespace := kit.NewNamespace(t, c)
	w := &websiteWorld{
		client: c, recorder: &kit.Recorder{},
		key:   client.ObjectKey{Namespace: namespace, Name: "home"},
		child: client.ObjectKey{Namespace: namespace, Name: "home-website"},
	}
	kubectl(t, "apply", "--server-side", "--filename", kit.File("examples", "website", "role.yaml"))
	kubectl(t, "create", "clusterrolebinding", namespace, "--clusterrole=website", "--user=website")
	restConfig.Impersonate.UserName = "website" // with those rights and no others
	restConfig.Wrap(w.recorder.Wrap)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- website.Run(ctx, restConfig, websiteOptions()) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the program ended with %v", err)
		}
	})
	return w
}

func websiteOptions() ctrl.Options {
	return ctrl.Options{
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: new(true)}, // several runs in one process
	}
}

func (w *websiteWorld) get(t *testing.T) *website.Website {
	t.Helper()
	var site website.Website
	if err := w.client.Get(t.Context(), w.key, &site); err != nil {
		t.Fatal(err)
	}
	return &site
}

// waitForApplied waits for the condition's reason and for ready pods.
func (w *websiteWorld) waitForApplied(t *testing.T, reason string, ready int32) {
	t.Helper()
	kit.WaitFor(t, fmt.Sprint(reason, " with ", ready, " ready"), func() string {
		site := w.get(t)
		applied := meta.FindStatusCondition(site.Status.Conditions, "Applied")
		if applied == nil || applied.Reason != reason || site.Status.Ready != ready {
			return fmt.Sprintf("%d ready, %v", site.Status.Ready, applied)
		}
		return ""
	})
}

func (w *websiteWorld) page(t *testing.T) *corev1.ConfigMap {
	t.Helper()
	var page corev1.ConfigMap
	if err := w.client.Get(t.Context(), w.child, &page); err != nil {
		t.Fatal(err)
	}
	return &page
}

func (w *websiteWorld) patch(t *testing.T, object client.Object, manager, patch string) {
	t.Helper()
	object.SetNamespace(w.child.Namespace)
	object.SetName(w.child.Name)
	raw := client.RawPatch("application/strategic-merge-patch+json", []byte(patch))
	if err := w.client.Patch(t.Context(), object, raw, client.FieldOwner(manager)); err != nil {
		t.Fatal(err)
	}
}

func (w *websiteWorld) converges(t *testing.T) {
	site := &website.Website{Spec: website.Spec{Page: "<h1>Hello</h1>"}}
	site.Namespace, site.Name = w.key.Namespace, w.key.Name
	if err := w.client.Create(t.Context(), site); err != nil {
		t.Fatal(err)
	}
	w.waitForApplied(t, "Applied", 1)
	if finalizers := w.get(t).Finalizers; !cmp.Equal(finalizers, []string{website.Finalizer}) {
		t.Errorf("finalizers are %v", finalizers)
	}
}

func (w *websiteWorld) drift(t *testing.T) {
	w.patch(t, &corev1.ConfigMap{}, "person", `{"data":{"index.html":"<h1>Mine</h1>","other.html":"kept"}}`)
	kit.WaitFor(t, "the page is as it was, and what the reconciler does not emit stays", func() string {
		want := map[string]string{"index.html": "<h1>Hello</h1>", "other.html": "kept"}
		return cmp.Diff(want, w.page(t).Data)
	})
}

func (w *websiteWorld) foreignFields(t *testing.T) {
	kubectl(t, "scale", "--namespace", w.child.Namespace, "deployment/"+w.child.Name, "--replicas=2")
	w.waitForApplied(t, "Applied", 2)
	// The server writes down no owner when nobody owned the replicas before.
	if owners := kit.OwnersOf(t, w.client, w.child.Namespace, w.child.Name, ".spec.replicas"); len(owners) > 0 {
		t.Errorf("the replicas belong to %v", owners)
	}
}

// unchanged waits for rest first: the Deployment's status may still be on its way.
func (w *websiteWorld) unchanged(t *testing.T) {
	for before := -1; before < len(w.recorder.Requests()); {
		before = len(w.recorder.Requests())
		kit.Absence(t, time.Second, "more requests")
	}
	countUnchanged(t, w.client, w.recorder, w.get(t))
}

// waitFor stands in a document, where no kit is known.
var waitFor = kit.WaitFor

// countUnchanged wakes the reconciler of a settled Website, by an annotation that the
// reconciler knows, and counts what it sends.
func countUnchanged(t *testing.T, c client.Client, recorder *kit.Recorder, site *website.Website) {
	t.Helper()
	recorder.Reset()
	before := counterOf(t, "controller_runtime_reconcile_total", "website")
	wake := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"coapply.dev/paused":"false"}}}`))
	if err := c.Patch(t.Context(), site, wake); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the reconciler has looked", func() string {
		if counterOf(t, "controller_runtime_reconcile_total", "website") == before {
			return "not yet"
		}
		return ""
	})
	time.Sleep(time.Second) // for what should not follow
	if n := len(recorder.Requests()); n != 0 {
		t.Errorf("%d requests; want none:\n%v", n, recorder)
	}
}

func (w *websiteWorld) conflict(t *testing.T) {
	const image = `{"spec":{"template":{"spec":{"containers":[{"name":"web","image":"%s"}]}}}}`
	w.patch(t, &appsv1.Deployment{}, "kubectl-set", fmt.Sprintf(image, "nginx:1.28"))
	w.waitForApplied(t, "OwnershipConflict", 2)
	waitFor(t, "an event tells it", func() string {
		var events eventsv1.EventList
		if err := w.client.List(t.Context(), &events, client.InNamespace(w.key.Namespace)); err != nil {
			t.Fatal(err)
		}
		for _, event := range events.Items {
			if event.Reason == "OwnershipConflict" && strings.Contains(event.Note, "kubectl-set") {
				return ""
			}
		}
		return fmt.Sprintf("%d others", len(events.Items))
	})
	var deployment appsv1.Deployment
	if err := w.client.Get(t.Context(), w.child, &deployment); err != nil {
		t.Fatal(err)
	}
	if got := deployment.Spec.Template.Spec.Containers[0].Image; got != "nginx:1.28" {
		t.Errorf("the image is %s; Reject leaves what the other owner wants", got)
	}
	w.patch(t, &appsv1.Deployment{}, "kubectl-set", fmt.Sprintf(image, "nginx:1.29"))
	w.waitForApplied(t, "Applied", 2) // both want that image now
}

func (w *websiteWorld) deletion(t *testing.T) {
	if err := w.client.Delete(t.Context(), w.get(t)); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the Website is gone", func() string {
		var site website.Website
		var deployment appsv1.Deployment
		err := w.client.Get(t.Context(), w.key, &site)
		gone := w.client.Get(t.Context(), w.child, &deployment)
		switch {
		case apierrors.IsNotFound(err) && !apierrors.IsNotFound(gone):
			t.Fatalf("the Website went before its Deployment: %v", gone)
		case !apierrors.IsNotFound(err):
			return fmt.Sprint(err, site.Finalizers)
		}
		return ""
	})
}
