package coapply_test

import (
	"context"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	"coapply.dev"
	"coapply.dev/apply"
	"coapply.dev/apply/breaker"
)

// world is a manager of objects in memory. What it does not override finds no server.
type world struct {
	ctrl.Manager

	client client.Client
	events *events.FakeRecorder
}

func (w world) GetClient() client.Client                       { return w.client }
func (w world) GetAPIReader() client.Reader                    { return w.client }
func (w world) GetEventRecorder(string) recorder.EventRecorder { return w.events }

func newManager(t *testing.T, of *rest.Config) ctrl.Manager {
	t.Helper()
	mgr, err := ctrl.NewManager(of, ctrl.Options{Metrics: metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: new(true)}}) // tests run more than once in a process
	if err != nil {
		t.Fatal(err)
	}
	return mgr
}

func newWorld(t *testing.T, objects ...client.Object) world {
	t.Helper()
	return world{newManager(t, &rest.Config{Host: "http://127.0.0.1:1"}),
		fake.NewClientBuilder().WithObjects(objects...).Build(), events.NewFakeRecorder(10)}
}

func newRuntime(t *testing.T, mgr ctrl.Manager, options ...coapply.Option) *coapply.Runtime {
	t.Helper()
	rt, err := coapply.New(mgr, options...)
	if err != nil {
		t.Fatal(err)
	}
	return rt
}

// TestNewTwice: a manager can have only one Runtime, and its transport is wrapped only once.
func TestNewTwice(t *testing.T) {
	mgr := newManager(t, &rest.Config{Host: "https://127.0.0.1:1"})
	newRuntime(t, mgr)
	wrapped := mgr.GetHTTPClient().Transport
	below := wrapped.(interface{ WrappedRoundTripper() http.RoundTripper }).WrappedRoundTripper() // that sees informers
	if reflect.TypeOf(below) != reflect.TypeOf(apply.RecordExchange(nil)) {
		t.Errorf("the transport is %T, which records nothing", below)
	}
	if _, err := coapply.New(mgr); err == nil || !strings.Contains(err.Error(), "coapply.New was called twice for one manager") {
		t.Errorf("a second Runtime: %v", err)
	}
	if again := mgr.GetHTTPClient().Transport; again != wrapped {
		t.Error("the transport is wrapped twice")
	}
	newRuntime(t, newManager(t, &rest.Config{Host: "https://127.0.0.1:1"})) // of another manager
}

// TestNewAgainAfterAnError: New can be called again for a manager once an option is corrected.
func TestNewAgainAfterAnError(t *testing.T) {
	mgr := newManager(t, &rest.Config{Host: "https://127.0.0.1:1"})
	if _, err := coapply.New(mgr, coapply.AlsoWatched(mgr.GetCache(), &unknownObject{})); err == nil {
		t.Error("a cache of a type outside the scheme is accepted")
	}
	newRuntime(t, mgr)
}

// unknownObject is of no type in the scheme.
type unknownObject struct{ corev1.ConfigMap }

// TestNewAfterStart: New rejects a manager that has already started.
func TestNewAfterStart(t *testing.T) {
	mgr := newManager(t, &rest.Config{Host: "https://127.0.0.1:1"})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	<-mgr.Elected()
	if _, err := coapply.New(mgr); err == nil || !strings.Contains(err.Error(), "call coapply.New before mgr.Start") {
		t.Error(err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestNewWithoutClientOfItsOwn: over plain HTTP a manager shares http.DefaultClient with
// whoever uses it in the process.
func TestNewWithoutClientOfItsOwn(t *testing.T) {
	before := http.DefaultClient.Transport
	newRuntime(t, newManager(t, &rest.Config{Host: "http://127.0.0.1:1"}))
	if http.DefaultClient.Transport != before {
		t.Error("http.DefaultClient was changed")
	}
}

func TestNewWithoutManager(t *testing.T) {
	if _, err := coapply.New(nil); err == nil || !strings.Contains(err.Error(), "a manager is needed") {
		t.Errorf("got %v", err)
	}
}

func TestWhatIsInvalidIsToldByApply(t *testing.T) {
	rt := newRuntime(t, newWorld(t))
	for _, test := range []struct {
		reason, manager string
		policy          apply.Policy
		want            string
	}{
		{"no name", "", apply.Policy{}, "FieldManager: a name is needed"},
		{"a path that does not parse", "shop-web", apply.OnConflict(apply.Reject).At("spec", apply.Force), `field manager "shop-web"`},
	} {
		err := rt.Client(test.manager, test.policy).Apply(t.Context(), corev1ac.ConfigMap("page", "shop"))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.reason, err, test.want)
		}
	}
}

// TestNoMethodIsForgotten: a method that controller-runtime adds is passed through unseen.
// Who adds it here has asked whether it writes by Server-Side Apply.
func TestNoMethodIsForgotten(t *testing.T) {
	for of, known := range map[reflect.Type][]string{
		reflect.TypeFor[client.Client](): {
			"Apply", "Status", "SubResource", // decorated
			"Create", "Delete", "DeleteAllOf", "Get", "GroupVersionKindFor", "IsObjectNamespaced", "List", "Patch", "RESTMapper", "Scheme", "Update",
		},
		reflect.TypeFor[client.SubResourceClient](): {
			"Apply", // decorated
			"Create", "Get", "Patch", "Update",
		},
	} {
		var methods []string
		for method := range of.Methods() {
			methods = append(methods, method.Name)
		}
		slices.Sort(known)
		if !slices.Equal(methods, known) {
			t.Errorf("%v has %v, want %v", of, methods, known)
		}
	}
}

// counter counts what is observed.
type counter struct {
	sent int
}

func (c *counter) ObserveApply(apply.ApplyObservation) { c.sent++ }

func (*counter) ObserveUpdate(apply.UpdateObservation) {}

// TestEveryApplyIsObserved: applies through an Applier and those that are sent as they are.
func TestEveryApplyIsObserved(t *testing.T) {
	seen := &counter{}
	shop := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "page", UID: "1"}}
	forces, err := breaker.New(breaker.Config{})
	if err != nil {
		t.Fatal(err)
	}
	rt := newRuntime(t, newWorld(t, shop), coapply.WithBreaker(forces), coapply.WithMetrics(seen))
	c := rt.Client("shop-web", apply.Policy{})
	for _, config := range []*corev1ac.ConfigMapApplyConfiguration{
		corev1ac.ConfigMap("page", "shop").WithData(map[string]string{"a": "1"}),
		corev1ac.ConfigMap("page", "shop").WithData(map[string]string{"a": "2"}).WithResourceVersion("1000"), // sent as it is
	} {
		if err := c.Apply(t.Context(), config, client.FieldOwner("second")); err != nil {
			t.Fatal(err)
		}
	}
	if seen.sent != 2 {
		t.Errorf("%d applies were observed, want 2", seen.sent)
	}
	config := rt.ApplierConfig("third", apply.OnConflict(apply.Force))
	if reflect.DeepEqual(config.Policy, apply.OnConflict(apply.Force)) || config.Metrics == apply.Metrics(seen) {
		t.Error("the Breaker neither guards the policy nor sees what is sent")
	}
}
