package apply

import (
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/applyset"
	"coapply.dev/test/kit"
)

// pruneWorld is a parent with two namespaces. Objects are named as in a test's
// table: "ConfigMap a" in the first, "ConfigMap other/a" in the second one,
// "ClusterRole a" in none.
type pruneWorld struct {
	*testing.T

	client.Client // of someone who looks on

	namespace, other string
	parent           client.Object
}

const pruner = "coapply-pruner"

func newPruneWorld(t *testing.T) *pruneWorld {
	t.Helper()
	c := kit.NewClient(t, kit.Server(t))
	w := &pruneWorld{T: t, Client: c, namespace: kit.NewNamespace(t, c), other: kit.NewNamespace(t, c)}
	w.parent = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "parent"}}
	w.must(c.Create(t.Context(), w.parent))
	return w
}

func (w *pruneWorld) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// process is an applyset.Sets without a memory, as after a restart.
func (w *pruneWorld) process(requests *pruneRequests) *applyset.Sets {
	w.Helper()
	config := rest.CopyConfig(kit.Server(w))
	config.Wrap(requests.wrap)
	return w.setsOf(kit.NewApplier(w, kit.NewClient(w, config), pruner, apply.Policy{}))
}

func (w *pruneWorld) setsOf(applier *apply.Applier) *applyset.Sets {
	w.Helper()
	sets, err := applyset.New(applier)
	w.must(err)
	return sets
}

// round applies and, if everything stands, prunes. The parent is as a cache has it
// that saw everything.
func (w *pruneWorld) round(sets *applyset.Sets, emitted ...string) (*applyset.Round, applyset.Pruned, error) {
	w.Helper()
	w.must(w.Get(w.Context(), client.ObjectKeyFromObject(w.parent), w.parent))
	round := sets.Apply(w.Context(), w.parent, w.emit(emitted...))
	if len(round.Errs) > 0 {
		return round, applyset.Pruned{}, errors.Join(round.Errs...)
	}
	pruned, err := round.Prune(w.Context())
	return round, pruned, err
}

func (w *pruneWorld) emit(emitted ...string) func() ([]apply.Intent, error) {
	return func() (intents []apply.Intent, err error) {
		for _, name := range emitted {
			object := w.object(name)
			intents = append(intents, apply.Intent{Config: client.ApplyConfigurationFromUnstructured(object)})
		}
		return intents, nil
	}
}

var pruneKinds = map[string]schema.GroupVersionKind{
	"ConfigMap":      {Version: "v1", Kind: "ConfigMap"},
	"Secret":         {Version: "v1", Kind: "Secret"},
	"ServiceAccount": {Version: "v1", Kind: "ServiceAccount"},
	"ClusterRole":    {Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole"},
}

// object gives what a name stands for. What is in no namespace has the world's in
// its name.
func (w *pruneWorld) object(text string) *unstructured.Unstructured {
	kind, name, _ := strings.Cut(text, " ")
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(pruneKinds[kind])
	namespace := w.namespace
	if in, rest, ok := strings.Cut(name, "/"); ok && in == "other" {
		namespace, name = w.other, rest
	}
	if kind == "ClusterRole" {
		namespace, name = "", w.namespace+"-"+name
	}
	object.SetNamespace(namespace)
	object.SetName(name)
	return object
}

// live lists what exists and has the label of a set, with what is terminating.
func (w *pruneWorld) live() (names []string) {
	w.Helper()
	for kind, gvk := range pruneKinds {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(gvk.GroupVersion().WithKind(kind + "List"))
		w.must(w.List(w.Context(), list, client.HasLabels{applyset.PartOfLabel}))
		for _, object := range list.Items {
			switch {
			case object.Namespace == w.namespace:
				names = append(names, kind+" "+object.Name)
			case object.Namespace == w.other:
				names = append(names, kind+" other/"+object.Name)
			case kind == "ClusterRole" && strings.HasPrefix(object.Name, w.namespace+"-"):
				names = append(names, kind+" "+strings.TrimPrefix(object.Name, w.namespace+"-"))
			}
		}
	}
	slices.Sort(names)
	return names
}

// recorded is what the parent says: kinds, then other namespaces.
func (w *pruneWorld) recorded() string {
	w.Helper()
	w.must(w.Get(w.Context(), client.ObjectKeyFromObject(w.parent), w.parent))
	annotations := w.parent.GetAnnotations()
	others := strings.Split(annotations["applyset.kubernetes.io/additional-namespaces"], ",")
	if !slices.IsSorted(others) {
		w.Errorf("namespaces %v are not sorted", others)
	}
	for i := range others {
		others[i] = strings.NewReplacer(w.namespace, "own", w.other, "other").Replace(others[i])
	}
	slices.Sort(others)
	kinds := strings.ReplaceAll(annotations["applyset.kubernetes.io/contains-group-kinds"], w.namespace, "own")
	return kinds + ";" + strings.Join(others, ",")
}

// deleted names what a round deleted.
func (w *pruneWorld) deleted(pruned applyset.Pruned) (names []string) {
	for _, object := range pruned.Deleted {
		name := object.Name
		switch object.Namespace {
		case w.other:
			name = "other/" + name
		case "":
			name = strings.TrimPrefix(name, w.namespace+"-")
		}
		names = append(names, object.Kind+" "+name)
	}
	slices.Sort(names)
	return names
}

// pruneRequests notes what is sent, but for discovery, and may stand in its way.
type pruneRequests struct {
	mu     sync.Mutex
	sent   []string                                                           // method, then a space and the path
	before func(*http.Request) error                                          // may be nil
	after  func(*http.Request, *http.Response, error) (*http.Response, error) // may be nil
}

var discoveryPath = regexp.MustCompile(`^/apis?(/[^/]+){0,2}$`)

func (p *pruneRequests) wrap(next http.RoundTripper) http.RoundTripper {
	return kit.RoundTripper(func(request *http.Request) (*http.Response, error) {
		if discoveryPath.MatchString(request.URL.Path) {
			return next.RoundTrip(request)
		}
		p.mu.Lock()
		p.sent = append(p.sent, request.Method+" "+request.URL.Path)
		before, after := p.before, p.after
		p.mu.Unlock()
		if before != nil {
			if err := before(request); err != nil {
				return nil, err
			}
		}
		response, err := next.RoundTrip(request)
		if after != nil {
			return after(request, response, err)
		}
		return response, err
	})
}

// take gives what was sent since it was called last.
func (p *pruneRequests) take() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	sent := p.sent
	p.sent = nil
	return sent
}

// verbs is what was sent, without the paths.
func verbs(sent []string) string {
	var all []string
	for _, request := range sent {
		verb, _, _ := strings.Cut(request, " ")
		all = append(all, verb)
	}
	return strings.Join(all, " ")
}
