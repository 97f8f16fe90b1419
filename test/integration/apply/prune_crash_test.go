package apply

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"coapply.dev/apply"
	"coapply.dev/apply/applyset"
	"coapply.dev/test/kit"
)

var errDied = errors.New("the process died")

// dieAt lets n requests pass. The one after it is the last: it is not sent, or it
// is and its answer is lost.
func (p *pruneRequests) dieAt(n int, answerLost bool) (died func() bool) {
	sent := 0
	p.before = func(*http.Request) error {
		if sent++; sent > n+1 || sent == n+1 && !answerLost {
			return errDied
		}
		return nil
	}
	p.after = func(_ *http.Request, response *http.Response, err error) (*http.Response, error) {
		if sent <= n || err != nil {
			return response, err
		}
		return nil, errors.Join(errDied, response.Body.Close())
	}
	return func() bool { return sent > n }
}

// A process dies at each request of a round that drops one kind and begins others,
// or it goes on and its cache is behind. The next round emits something else, and
// nothing may be left over.
func TestPruneAfterACrash(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]struct{ answerLost, survives bool }{
		"not sent": {false, false}, "answer lost": {true, false},
		"not sent, goes on": {false, true}, "answer lost, goes on": {true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			died := true
			for n := 0; died; n++ {
				died = false // of a test that ends early
				t.Run(fmt.Sprintf("request %d", n), func(t *testing.T) {
					died = crashAt(t, n, fault.answerLost, fault.survives)
				})
				if !died && n < 12 {
					t.Errorf("a round of %d requests: too short for what is tested", n)
				}
			}
		})
	}
}

func crashAt(t *testing.T, n int, answerLost, survives bool) (died bool) {
	w := newPruneWorld(t)
	asCached := w.parent.DeepCopyObject().(client.Object)
	requests := &pruneRequests{}
	sets := w.process(requests)
	_, _, err := w.round(sets, "ConfigMap a", "Secret a", "Secret b")
	w.must(err)
	if !survives {
		sets = w.process(requests)
	}
	requests.take()
	died = w.diesInARound(sets, requests, n, answerLost)
	sent := requests.take()
	if survives {
		requests.before, requests.after = nil, nil
		round := sets.Apply(t.Context(), asCached, w.emit("ConfigMap a", "ServiceAccount z"))
		w.must(errors.Join(round.Errs...))
		if pruned, err := round.Prune(t.Context()); !errors.Is(err, apply.ErrRetryable) || len(pruned.Deleted) > 0 {
			t.Errorf("%v, %+v; want nothing deleted for a parent as it was", err, pruned)
		}
	} else {
		sets = w.process(&pruneRequests{})
	}
	_, _, err = w.round(sets, "ConfigMap a", "ServiceAccount z")
	w.must(err)
	want := []any{[]string{"ConfigMap a", "ServiceAccount z"}, "ConfigMap,ServiceAccount;"}
	if diff := cmp.Diff(want, []any{w.live(), w.recorded()}); diff != "" {
		t.Errorf("live and recorded (-want +got):\n%s\nafter a round that sent %v", diff, sent)
	}
	return died
}

func (w *pruneWorld) diesInARound(sets *applyset.Sets, requests *pruneRequests, n int, answerLost bool) (died bool) {
	dead := requests.dieAt(n, answerLost)
	_, _, err := w.round(sets, "Secret b", "ServiceAccount other/a", "ClusterRole a", "ConfigMap other/a")
	switch {
	case dead() && !errors.Is(err, errDied):
		w.Errorf("it died, and the round says %v", err)
	case !dead() && err != nil:
		w.Errorf("the whole round: %v", err)
	}
	return dead()
}

// A kind that is served no longer holds nothing, and the rest is pruned all the
// same. A process that knew the kind does not know that it is gone for good.
func TestPruneAfterTheKindIsGone(t *testing.T) {
	w := newPruneWorld(t)
	kind := schema.GroupVersionKind{Group: w.namespace + ".example.com", Version: "v1", Kind: "Widget"}
	crd := kit.Widgets(kind)
	installed, err := kit.InstallCRDs(kit.Server(t), envtest.CRDInstallOptions{CRDs: []*apiextensionsv1.CustomResourceDefinition{crd}})
	w.must(err)
	widget := &unstructured.Unstructured{}
	widget.SetGroupVersionKind(kind)
	widget.SetNamespace(w.namespace)
	widget.SetName("w")

	old := w.process(&pruneRequests{})
	round := old.Apply(t.Context(), w.parent, func() ([]apply.Intent, error) {
		intents, err := w.emit("ConfigMap a", "Secret a")()
		return append(intents, apply.Intent{Config: client.ApplyConfigurationFromUnstructured(widget)}), err
	})
	w.must(errors.Join(round.Errs...))
	_, err = round.Prune(t.Context())
	w.must(err)
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind("WidgetList"))
	w.must(w.List(t.Context(), list)) // so that the mapper knows the kind
	w.must(envtest.UninstallCRDs(kit.Server(t), envtest.CRDInstallOptions{CRDs: installed}))
	kit.WaitFor(t, "the kind to be served no longer", func() string {
		if err := w.List(t.Context(), list); !apierrors.IsNotFound(err) {
			return fmt.Sprint(err)
		}
		return ""
	})

	for _, step := range []struct {
		process           *applyset.Sets
		emitted, recorded string
	}{
		{old, "ConfigMap a", "ConfigMap,Widget.own.example.com;"},
		{w.process(&pruneRequests{}), "ServiceAccount a", "ServiceAccount;"},
	} {
		_, _, err = w.round(step.process, step.emitted)
		w.must(err)
		if diff := cmp.Diff([]any{[]string{step.emitted}, step.recorded}, []any{w.live(), w.recorded()}); diff != "" {
			t.Errorf("emitting %s: live and recorded (-want +got):\n%s", step.emitted, diff)
		}
	}
}
