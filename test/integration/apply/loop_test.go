package apply

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	schedulingv1ac "k8s.io/client-go/applyconfigurations/scheduling/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev"
	"coapply.dev/apply"
	"coapply.dev/apply/applytest"
	"coapply.dev/test/kit"
)

// loopLimit is the number of changes of one object within a minute that are no loop.
const loopLimit = 30

// loopLog collects the log lines that report a loop.
type loopLog struct {
	mu    sync.Mutex
	lines []string
}

func (l *loopLog) logger() logr.Logger {
	return funcr.New(func(prefix, args string) {
		if !strings.Contains(args, "more than 30 times within a minute") {
			return
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.lines = append(l.lines, prefix+" "+args)
	}, funcr.Options{})
}

// reports returns the reports about one object.
func (l *loopLog) reports(namespace, name string) (found []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.lines {
		if strings.Contains(line, "ConfigMap "+namespace+"/"+name+" ") {
			found = append(found, line)
		}
	}
	return found
}

// loopWorld is a manager whose log is read, and a namespace.
type loopWorld struct {
	log       *loopLog
	mgr       ctrl.Manager
	rt        *coapply.Runtime
	live      client.Client // another writer, past every cache
	namespace string
}

func newLoopWorld(t *testing.T, options ...coapply.Option) *loopWorld {
	t.Helper()
	w := &loopWorld{log: &loopLog{}, live: kit.NewClient(t, kit.Server(t))}
	w.namespace = kit.NewNamespace(t, w.live)
	w.mgr = newDropInManager(t, kit.Server(t), func(o *ctrl.Options) {
		o.Cache.DefaultNamespaces = map[string]cache.Config{w.namespace: {}}
		o.Logger = w.log.logger()
	})
	var err error
	if w.rt, err = coapply.New(w.mgr, options...); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *loopWorld) context(t *testing.T) context.Context {
	return logr.NewContext(t.Context(), w.log.logger())
}

func (w *loopWorld) page(title string) *corev1ac.ConfigMapApplyConfiguration {
	return corev1ac.ConfigMap("page", w.namespace).WithData(map[string]string{"title": title})
}

// alternate applies through the clients in turn, each with its own title. It continues until a
// loop is reported, and then for half the limit again. On a machine where 31 applies take more
// than a minute, more applies are needed.
func (w *loopWorld) alternate(t *testing.T, apply func(i int)) {
	t.Helper()
	const most = 20 * loopLimit
	rest := loopLimit / 2
	for i := 0; i < most && rest > 0; i++ {
		apply(i)
		if len(w.log.reports(w.namespace, "page")) > 0 {
			rest--
		}
	}
}

// wantReport checks that the log and one event name the parts, and that both report once.
func (w *loopWorld) wantReport(t *testing.T, parts ...string) {
	t.Helper()
	reports := w.log.reports(w.namespace, "page")
	if len(reports) != 1 {
		t.Fatalf("%d reports in the log; want 1: %q", len(reports), reports)
	}
	var notes []string
	kit.WaitFor(t, "the event", func() string {
		notes = w.events(t)
		if len(notes) == 0 {
			return "there is none"
		}
		return ""
	})
	if len(notes) != 1 {
		t.Errorf("%d events; want 1: %q", len(notes), notes)
	}
	for _, part := range parts {
		if logged := strings.ReplaceAll(reports[0], `\"`, `"`); !strings.Contains(logged, part) {
			t.Errorf("the log does not name %s: %s", part, logged)
		}
		if !strings.Contains(notes[0], part) {
			t.Errorf("the event does not name %s: %s", part, notes[0])
		}
	}
}

// events returns the notes of the events about the page.
func (w *loopWorld) events(t *testing.T) []string {
	t.Helper()
	return w.notes(t, w.namespace, coapply.ReasonLoop, "ConfigMap", "page")
}

// notes returns the notes of the events about an object, each as often as it was recorded.
func (w *loopWorld) notes(t *testing.T, namespace, reason, kind, name string) (notes []string) {
	t.Helper()
	var events eventsv1.EventList
	if err := w.live.List(t.Context(), &events, client.InNamespace(namespace)); err != nil {
		t.Fatal(err)
	}
	for i := range events.Items {
		e := &events.Items[i]
		if e.Reason != reason || e.Regarding.Kind != kind || e.Regarding.Name != name {
			continue
		}
		notes = append(notes, e.Note)
		if e.Series != nil {
			notes = append(notes, fmt.Sprint("again, as a series of ", e.Series.Count))
		}
	}
	return notes
}

// TestLoopOfTwoClients: two clients of one process apply different titles under one name.
func TestLoopOfTwoClients(t *testing.T) {
	t.Parallel()
	w := newLoopWorld(t)
	applytest.StartManager(t, w.mgr)
	clients := []client.Client{w.rt.Client("example-shop", apply.Policy{}), w.rt.Client("example-shop", apply.Policy{})}
	w.alternate(t, func(i int) {
		if err := clients[i%2].Apply(w.context(t), w.page(fmt.Sprint("of client ", i%2))); err != nil {
			t.Fatal(err)
		}
	})
	w.wantReport(t, `"example-shop"`, "No other field manager")
}

// TestLoopOfAClusterScopedObject: its event is in the namespace default.
func TestLoopOfAClusterScopedObject(t *testing.T) {
	t.Parallel()
	w := newLoopWorld(t)
	applytest.StartManager(t, w.mgr)
	ours, name := w.rt.Client("example-shop", apply.Policy{}), "loop-"+w.namespace
	kit.WaitFor(t, "the event", func() string {
		for i := range loopLimit + 1 {
			class := schedulingv1ac.PriorityClass(name).WithValue(1).WithDescription(fmt.Sprint("number ", i%2))
			if err := ours.Apply(w.context(t), class); err != nil {
				t.Fatal(err)
			}
		}
		if len(w.notes(t, "default", coapply.ReasonLoop, "PriorityClass", name)) == 0 {
			return "there is none"
		}
		return ""
	})
}

// TestLoopWithForcedApplies: an editor forces its title each time, and so do we.
func TestLoopWithForcedApplies(t *testing.T) {
	t.Parallel()
	w := newLoopWorld(t)
	applytest.StartManager(t, w.mgr)
	ours := w.rt.Client("example-shop", apply.OnConflict(apply.Force))
	w.alternate(t, func(int) {
		if err := w.live.Apply(t.Context(), w.page("theirs"), client.FieldOwner("example-editor"), client.ForceOwnership); err != nil {
			t.Fatal(err)
		}
		if err := ours.Apply(w.context(t), w.page("ours")); err != nil {
			t.Fatal(err)
		}
	})
	w.wantReport(t, `"example-shop"`, "the object are example-editor/Apply.")
}

// TestLoopOfAController: a script removes a field that a controller of coapply.For applies.
func TestLoopOfAController(t *testing.T) {
	t.Parallel()
	w := newLoopWorld(t)
	service := corev1.SchemeGroupVersion.WithKind("Service")
	if err := coapply.For(w.rt, "example-shop", func(shop *corev1.Service) ([]apply.Intent, error) {
		return []apply.Intent{{Config: w.page("ours").WithOwnerReferences(coapply.OwnedBy(shop, service))}}, nil
	}).Owns(&corev1.ConfigMap{}).Complete(); err != nil {
		t.Fatal(err)
	}
	applytest.StartManager(t, w.mgr)
	shop := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "shop"},
		Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
	if err := w.live.Create(t.Context(), shop); err != nil {
		t.Fatal(err)
	}
	page := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "page"}}
	edit := client.RawPatch("application/merge-patch+json", []byte(`{"data":{"title":null,"footer":"theirs"}}`))
	w.alternate(t, func(int) {
		kit.WaitFor(t, "the controller applies the title", func() string {
			if err := w.live.Get(t.Context(), client.ObjectKeyFromObject(page), page); err != nil || page.Data["title"] == "" {
				return fmt.Sprint(err, " or no title")
			}
			return ""
		})
		if err := w.live.Patch(t.Context(), page, edit, client.FieldOwner("example-script")); err != nil {
			t.Fatal(err)
		}
	})
	w.wantReport(t, `"example-shop"`, "the object are example-script/Update.")
}
