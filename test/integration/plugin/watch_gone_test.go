package plugin

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"coapply.dev/test/kit"
)

// goneAnswers are the ways in which an API server says that it has forgotten a version.
var goneAnswers = map[string]http.HandlerFunc{
	"as an event": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"type": watch.Error, "object": expired()})
	},
	"as the answer": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusGone)
		_ = json.NewEncoder(w).Encode(expired())
	},
	"as plain text": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "gone", http.StatusGone) },
}

func expired() metav1.Status {
	status := apierrors.NewResourceExpired("too old").ErrStatus
	status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	return status
}

// TestWatchOverGone has moves happen while the watch is broken, and the API server
// forget them: their sum is shown, and it is said that it is one.
func TestWatchOverGone(t *testing.T) {
	for name, how := range goneAnswers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, h := startProxy(t, 2), newWatchHistory(t, 2)
			for range 8 {
				h.step()
			}
			h.want = nil // before the watch
			w := startWatch(t, p.config, 1, "configmaps", "-n", h.namespace, "-o", "json", "--fights-per-minute", "1000")
			for round := range 2 {
				for range 6 {
					h.step()
				}
				h.mark(w)
				h.forget(p, how)
				kit.WaitFor(t, "the watch continues", func() string {
					if got := strings.Count(w.out.String(), `"interrupted"`); got != round+1 {
						return fmt.Sprintf("%d interruptions are told of: %s", got, w.errOut.String())
					}
					return ""
				})
			}
			h.end(w)
			if got := strings.Count(w.errOut.String(), "are shown combined"); got != 2 {
				t.Errorf("%d lines say that there was an interruption, want 2: %s", got, w.errOut.String())
			}
		})
	}
}

// hold breaks the watches, and keeps the next one waiting for an answer.
func (p *faultyProxy) hold(answer http.HandlerFunc) (release func()) {
	held, released := make(chan struct{}), make(chan struct{})
	p.set(func() {
		p.spoil = func(w http.ResponseWriter, r *http.Request) {
			close(held)
			<-released
			answer(w, r)
		}
		p.breakAll()
	})
	<-held
	return func() {
		p.set(func() { p.spoil = nil })
		close(released)
	}
}

// forget has moves happen while no watch is open, and the API server forget them.
func (h *watchHistory) forget(p *faultyProxy, answer http.HandlerFunc) {
	h.t.Helper()
	release := p.hold(answer)
	defer release()
	before, want := maps.Clone(h.live), h.want
	for range 8 {
		h.step()
	}
	h.want = want // each of these is lost
	for i := range 3 {
		name := fmt.Sprint("shop-", i)
		h.want = append(h.want, h.between(name, before[name], h.live[name], true)...)
	}
}

// TestWatchOverGoneOfTheServer has the API server itself say that it has forgotten a
// version: one before the kind was there.
func TestWatchOverGoneOfTheServer(t *testing.T) {
	t.Parallel()
	p, c := startProxy(t, 3), kit.NewClient(t, kit.Server(t))
	namespace := kit.NewNamespace(t, c)
	kind := schema.GroupVersionKind{Group: namespace + ".example.com", Version: "v1", Kind: "Widget"}
	if _, err := kit.InstallCRDs(kit.Server(t), envtest.CRDInstallOptions{CRDs: []*apiextensionsv1.CustomResourceDefinition{kit.Widgets(kind)}}); err != nil {
		t.Fatal(err)
	}
	applyAs := func(manager string) {
		t.Helper()
		widget := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"color": manager}}}
		widget.SetGroupVersionKind(kind)
		widget.SetNamespace(namespace)
		widget.SetName("w")
		if err := c.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(widget), client.FieldOwner(manager), client.ForceOwnership); err != nil {
			t.Fatal(err)
		}
	}
	applyAs("a")
	w := startWatch(t, p.config, 1, "widgets."+kind.Group+"/w", "-n", namespace)
	release := p.hold(func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		query.Set("resourceVersion", "1")
		r.URL.RawQuery = query.Encode()
		p.next.ServeHTTP(w, r)
	})
	for _, manager := range []string{"b", "c", "a", "d"} {
		applyAs(manager)
	}
	release()
	w.wait(t, 1, "Widget "+namespace+"/w .spec.color: a/Apply -> d/Apply (all changes of the interruption combined)")
	applyAs("e")
	w.wait(t, 1, "Widget "+namespace+"/w .spec.color: d/Apply -> e/Apply\n")
	w.interrupt(t)
	if got := strings.Count(w.out.String(), ".spec.color"); got != 2 {
		t.Errorf("%d moves of the field, want 2:\n%s", got, w.out.String())
	}
	if got := strings.Count(w.errOut.String(), "the API server no longer has the changes after resourceVersion"); got != 1 {
		t.Errorf("told %d times of the interruption, want 1: %s", got, w.errOut.String())
	}
}

// TestWatchOverAnOutage refuses the watch several times: that is said once, and
// nothing is lost.
func TestWatchOverAnOutage(t *testing.T) {
	t.Parallel()
	p, h := startProxy(t, 4), newWatchHistory(t, 4)
	w := startWatch(t, p.config, 1, "configmaps", "-n", h.namespace, "-o", "json", "--fights-per-minute", "1000")
	h.step()
	refused := make(chan struct{}, 100)
	p.set(func() {
		p.spoil = func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "no server", http.StatusServiceUnavailable)
			refused <- struct{}{}
		}
		p.breakAll()
	})
	for range 3 {
		<-refused
		h.step()
	}
	p.set(func() { p.spoil = nil })
	h.end(w)
	for text, want := range map[string]int{"the watch is interrupted and will be retried": 1, "the watch continues": 1, "forgotten": 0} {
		if got := strings.Count(w.errOut.String(), text); got != want {
			t.Errorf("%q is said %d times, want %d: %s", text, got, want, w.errOut.String())
		}
	}
}

func TestWatchSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ reason, args, want string }{
		{"no such object", "configmap/none", `Error from server (NotFound): configmaps "none" not found`},
		{"no such kind", "nothings", `the server doesn't have a resource type "nothings"`},
		{"no permission", "configmaps --as nobody", `Error from server (Forbidden): configmaps is forbidden`},
		{"no server", "configmaps --server http://127.0.0.1:1", "The connection to the server 127.0.0.1:1 was refused"},
		{"not to be watched", "componentstatuses", "objects of this type cannot be watched"},
		{"a name across namespaces", "configmap/a -A", "a resource cannot be retrieved by name across all namespaces"},
		{"a name and a selector", "configmap/a -l a=b", "selectors and the all flag cannot be used when passing resource/name arguments"},
		{"a bad selector", "configmaps -l a===b", "unable to parse requirement"},
	} {
		stdout, stderr, code := plugin(t, append([]string{"watch"}, strings.Fields(test.args)...)...)
		// The API server warns of componentstatuses, as it does kubectl's own users.
		stderr = strings.TrimPrefix(stderr, "Warning: v1 ComponentStatus is deprecated in v1.19+\n")
		if code != 2 || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, test.want) {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q; want 2 and one line with %q", test.reason, code, stdout, stderr, test.want)
		}
	}
}
