package apply

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"syscall"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/test/kit"
)

// A call's object goes away before the first of its requests, before the second,
// and so on until the call ends before that happens. The call must never bring the
// object back, never touch what was created under the name since, and say how it
// ended. The gone_*_test.go files hold the calls, a verb or two each.

// goneCase is a call during which its object goes away.
type goneCase struct {
	name string
	// prepare makes everything that comes before the call, and gives the call. It
	// tells how it ended: by an Action or another word, "" after an error.
	prepare func(*gone) goneCall
	// requests is how many an undisturbed call sends: so many steps there are.
	requests int
	// undisturbed is how that ends; "" is without an error.
	undisturbed string
	// loses is the request whose answer gets lost; 0: none.
	loses int
	// picks is the request that learns which object has the name; 0 where the caller
	// says which one is meant. What was created before it is what the call means.
	picks int
	// byName tells that the call means whatever has the name, at any time.
	byName bool
	// deleted and recreated are the ways in which it may end.
	deleted, recreated []string
	// created checks what a call that means a name has made where the object was
	// deleted; nil: there must be nothing.
	created func(live client.Object) error
	// met checks what it left where the new object is what it means; live is nil where
	// it deleted that.
	met func(live client.Object, end string) error
	// after looks at anything else, once the object went away before the nth request.
	after func(g *gone, nth int) error
}

type goneCall func(context.Context) (end string, err error)

// gone is one run of a goneCase.
type gone struct {
	testing.TB

	c         client.Client // its requests are counted where the context has an intruder
	namespace string
	name      string
	object    client.Object        // that goes away; prepare sets it
	recreate  func() client.Object // makes a new one of the same name; prepare sets it
}

func (g *gone) ctx() context.Context { return g.Context() }

func (g *gone) must(err error) {
	g.Helper()
	if err != nil {
		g.Fatal(err)
	}
}

// created makes an object as a writer of the time before Server-Side Apply would.
func (g *gone) created(object client.Object, manager string) client.Object {
	g.Helper()
	g.must(g.c.Create(g.ctx(), object, client.FieldOwner(manager)))
	return object
}

// applied applies a configuration and gives the object as it is then.
func (g *gone) applied(config runtime.ApplyConfiguration, object client.Object, manager string) client.Object {
	g.Helper()
	g.must(g.c.Apply(g.ctx(), config, client.FieldOwner(manager)))
	object.SetNamespace(g.namespace)
	object.SetName(g.name)
	g.must(g.c.Get(g.ctx(), client.ObjectKeyFromObject(object), object))
	return object
}

func (g *gone) meta() metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: g.namespace, Name: g.name}
}

// live reads the object under the name; nil when there is none.
func (g *gone) live() client.Object {
	g.Helper()
	object := g.object.DeepCopyObject().(client.Object)
	err := g.c.Get(g.ctx(), client.ObjectKeyFromObject(g.object), object)
	if apierrors.IsNotFound(err) {
		return nil
	}
	g.must(err)
	return object
}

// end words how a call ended.
func end(action string, err error) string {
	switch {
	case err == nil:
		return action
	case apply.ResultOf(err) == "Error" && apierrors.IsNotFound(err):
		return "NotFound"
	}
	return apply.ResultOf(err)
}

// intruder acts before the nth request of the context that carries it.
type intruder struct {
	mu    sync.Mutex
	nth   int
	loses int
	sent  []string
	act   func()
}

type intruderKey struct{}

func intrude(next http.RoundTripper) http.RoundTripper {
	return kit.RoundTripper(func(request *http.Request) (*http.Response, error) {
		i, ok := request.Context().Value(intruderKey{}).(*intruder)
		lost := ok && i.before(request) == i.loses
		response, err := next.RoundTrip(request)
		if lost && err == nil {
			_ = response.Body.Close()
			return nil, syscall.ECONNRESET
		}
		return response, err
	})
}

// before tells which request it is.
func (i *intruder) before(request *http.Request) int {
	i.mu.Lock()
	defer i.mu.Unlock()
	force := ""
	if request.URL.Query().Get("force") == "true" {
		force = " force"
	}
	if i.sent = append(i.sent, request.Method+force); len(i.sent) == i.nth {
		i.act()
	}
	return len(i.sent)
}

func (i *intruder) acted() bool { return len(i.sent) >= i.nth }

func runGone(t *testing.T, cases []goneCase) {
	config := rest.CopyConfig(kit.Server(t))
	config.Wrap(intrude)
	c := kit.NewClient(t, config)
	namespace := kit.NewNamespace(t, c)
	for i, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			for _, recreated := range []bool{false, true} {
				for nth, acted := 1, true; acted; nth++ {
					g := &gone{TB: t, c: c, namespace: namespace, name: fmt.Sprintf("o-%d-%d-%t", i, nth, recreated)}
					acted = test.step(g, nth, recreated)
				}
			}
		})
	}
}

// step runs the call with the object going away before its nth request. It tells
// whether that happened.
func (test goneCase) step(g *gone, nth int, recreated bool) bool {
	call := test.prepare(g)
	before := g.object.GetUID()
	var strange client.Object
	i := &intruder{nth: nth, loses: test.loses, act: func() {
		g.erase()
		if recreated {
			strange = g.recreate()
		}
	}}
	ctx, cancel := context.WithTimeout(context.WithValue(g.ctx(), intruderKey{}, i), kit.Patience)
	defer cancel()
	action, err := call(ctx)
	got := end(action, err)
	where := fmt.Sprintf("recreated %t before request %d of %v, ended %s (%v)", recreated, nth, i.sent, got, err)
	switch {
	case ctx.Err() != nil:
		g.Errorf("%s: it hung", where)
	case !i.acted():
		if err != nil && got != test.undisturbed || len(i.sent) != test.requests {
			g.Errorf("undisturbed: ended %s (%v) after %v, want %q after %d requests", got, err, i.sent, test.undisturbed, test.requests)
		}
		return false
	case recreated:
		test.checkRecreated(g, where, strange, got, nth)
	default:
		test.checkDeleted(g, where, before, got)
	}
	if test.after != nil {
		if err := test.after(g, nth); err != nil {
			g.Errorf("%s: %v", where, err)
		}
	}
	return true
}

// erase deletes the object whatever finalizers it has.
func (g *gone) erase() {
	object := g.object.DeepCopyObject().(client.Object)
	g.must(client.IgnoreNotFound(g.c.Patch(g.ctx(), object, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))))
	g.must(client.IgnoreNotFound(g.c.Delete(g.ctx(), object)))
}

func (test goneCase) checkDeleted(g *gone, where string, before types.UID, got string) {
	g.Helper()
	if !slices.Contains(test.deleted, got) {
		g.Errorf("%s; want one of %v", where, test.deleted)
	}
	live := g.live()
	switch {
	case live == nil:
	case live.GetUID() == before:
		g.Fatalf("%s: the intruder has not deleted it", where)
	case test.created == nil:
		g.Errorf("%s: it was brought back as %v", where, live)
	default:
		if err := test.created(live); err != nil {
			g.Errorf("%s: %v", where, err)
		}
	}
}

func (test goneCase) checkRecreated(g *gone, where string, strange client.Object, got string, nth int) {
	g.Helper()
	live := g.live()
	switch {
	case live == nil && test.met == nil, live != nil && live.GetUID() != strange.GetUID():
		g.Errorf("%s: the new object was replaced by %v", where, live)
	case test.byName || nth <= test.picks: // it is what the call means
		if test.met != nil {
			if err := test.met(live, got); err != nil {
				g.Errorf("%s: %v", where, err)
			}
		}
	case live == nil || live.GetResourceVersion() != strange.GetResourceVersion():
		g.Errorf("%s: the new object was touched: %v", where, live)
	case !slices.Contains(test.recreated, got):
		g.Errorf("%s; want one of %v", where, test.recreated)
	}
}

// worded is an outcome's action for a goneCall.
func worded(outcome apply.Outcome, err error) (string, error) { return string(outcome.Action), err }
