package apply

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"coapply.dev"
	"coapply.dev/apply"
	"coapply.dev/apply/applytest"
	"coapply.dev/test/kit"
)

// dropInManager is the name that both clients apply under.
const dropInManager = "shop-web"

// dropIn is a controller's client, be it that of its manager or that of coapply.
type dropIn struct {
	client.Client

	mgr       ctrl.Manager  // of the controller
	live      client.Client // another writer, past every cache
	namespace string
	recorder  *kit.Recorder // of the controller's process
}

// startDropIn runs a manager. ours gives the drop-in client instead of client.Apply's.
func startDropIn(t *testing.T, ours bool, policy apply.Policy, changes ...func(*ctrl.Options)) *dropIn {
	t.Helper()
	restConfig := kit.Server(t)
	d := &dropIn{live: kit.NewClient(t, restConfig), recorder: &kit.Recorder{}}
	d.namespace = kit.NewNamespace(t, d.live)
	restConfig = rest.CopyConfig(restConfig)
	restConfig.Wrap(d.recorder.Wrap)
	mgr := newDropInManager(t, restConfig, changes...)
	d.mgr = mgr
	d.Client = client.WithFieldOwner(mgr.GetClient(), dropInManager)
	if ours {
		rt, err := coapply.New(mgr)
		if err != nil {
			t.Fatal(err)
		}
		d.Client = rt.Client(dropInManager, policy)
	}
	applytest.StartManager(t, mgr)
	return d
}

func newDropInManager(t *testing.T, restConfig *rest.Config, changes ...func(*ctrl.Options)) ctrl.Manager {
	t.Helper()
	options := ctrl.Options{
		Scheme:     kit.Scheme,
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: new(true)},
	}
	for _, change := range changes {
		change(&options)
	}
	mgr, err := ctrl.NewManager(restConfig, options)
	if err != nil {
		t.Fatal(err)
	}
	return mgr
}

// readYourWrites makes reads of the manager's client wait until the cache shows its own writes.
func readYourWrites(o *ctrl.Options) {
	o.Client = client.Options{Cache: &client.CacheOptions{EnableReadYourWritesConsistency: new(true)}}
}

// get reads past the cache; nil is that there is no object.
func get[O client.Object](t *testing.T, d *dropIn, name string, object O) O {
	t.Helper()
	err := d.live.Get(t.Context(), client.ObjectKey{Namespace: d.namespace, Name: name}, object)
	if apierrors.IsNotFound(err) {
		var none O
		return none
	}
	if err != nil {
		t.Fatal(err)
	}
	return object
}

// recreate deletes a ConfigMap and makes another one of its name.
func (d *dropIn) recreate(t *testing.T, name string) {
	t.Helper()
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: d.namespace, Name: name}}
	if err := d.live.Delete(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	object.ResourceVersion, object.UID = "", ""
	if err := d.live.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
}
