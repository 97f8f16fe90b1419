package apply_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/test/kit/memory"
)

const manager = memory.Manager

// Requests, as a world records them.
const (
	read      = "GET"
	whole     = "PATCH"     // of the whole intent
	pinned    = "PATCH uid" // to the object
	atVersion = "PATCH uid resourceVersion"
	forces    = "PATCH uid resourceVersion force"
	exclusive = "PATCH that no object has" // creates, or fails
)

var (
	entry       = memory.Entry
	hpa         = memory.HPA
	kubectl     = memory.Kubectl
	deployments = schema.GroupResource{Group: "apps", Resource: "deployments"}

	forbidden   = apierrors.NewForbidden(deployments, "web", nil)
	unavailable = apierrors.NewServiceUnavailable("etcd has no leader")
	overtaken   = apierrors.NewConflict(deployments, "web", errors.New("the object has been modified")) // a race inside the server
)

// world is an API server with the Deployment web, of which hpa owns the replicas and kubectl the pause.
type world struct {
	*memory.World

	cache       client.Reader           // of the client under test; nil: it reads from the server
	intent      *apply.Intent           // of a scene
	live        func(client.Object)     // changes what the LiveReader returns
	wrap        []transport.WrapperFunc // of the client under test
	timeout     time.Duration           // of the client
	host, token string                  // of the client, if not those of the server
	unseen      bool                    // the client has no RecordExchange
}

func newWorld(t *testing.T, owners ...metav1.ManagedFieldsEntry) *world {
	t.Helper()
	w := &world{World: memory.New(t)}
	w.Web(owners...)
	return w
}

// newEmptyWorld has no Deployment.
func newEmptyWorld(t *testing.T) *world {
	t.Helper()
	return &world{World: memory.New(t)}
}

// restConfig is for the client under test.
func (w *world) restConfig() *rest.Config {
	config := w.Config()
	config.Timeout, config.Host, config.BearerToken = w.timeout, cmp.Or(w.host, config.Host), w.token
	for _, wrap := range w.wrap {
		config.Wrap(wrap)
	}
	if !w.unseen {
		config.Wrap(apply.RecordExchange)
	}
	return config
}

func (w *world) applier(policy apply.Policy) *apply.Applier {
	w.Helper()
	return w.applierOf(apply.Config{Policy: policy})
}

func (w *world) applierOf(config apply.Config) *apply.Applier {
	w.Helper()
	rest := w.restConfig()
	config.FieldManager = cmp.Or(config.FieldManager, manager)
	config.LiveReader = liveReader{w.Client(rest, nil), w}
	applier, err := apply.New(w.Client(rest, w.cache), config)
	w.Must(err)
	return applier
}

// liveReader reads past the cache, what its world makes of the live object.
type liveReader struct {
	client.Reader

	world *world
}

func (r liveReader) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	err := r.Reader.Get(ctx, key, into, options...)
	if err == nil && r.world.live != nil {
		r.world.live(into)
	}
	return err
}

// threeReplicas is an intent for an object of others.
func threeReplicas() *appsv1ac.DeploymentApplyConfiguration {
	return appsv1ac.Deployment("web", "shop").WithSpec(appsv1ac.DeploymentSpec().WithReplicas(3))
}

// wholeWeb is an intent with which the Deployment web can be created.
func wholeWeb() *appsv1ac.DeploymentApplyConfiguration {
	labels := map[string]string{"app": "web"}
	config := threeReplicas()
	config.Spec.WithSelector(metav1ac.LabelSelector().WithMatchLabels(labels)).
		WithTemplate(corev1ac.PodTemplateSpec().WithLabels(labels).
			WithSpec(corev1ac.PodSpec().WithContainers(corev1ac.Container().WithName("web").WithImage("nginx:1"))))
	return config
}

// statusOf is an intent for the status.
func statusOf(replicas int32) *appsv1ac.DeploymentApplyConfiguration {
	return appsv1ac.Deployment("web", "shop").WithStatus(appsv1ac.DeploymentStatus().WithReplicas(replicas))
}

// deep are fields of too many levels to be read by anybody but the server, and further ones.
func deep(further string) string {
	const levels = 1500
	return `{"f:metadata":{"f:annotations":{` + strings.Repeat(`"f:x":{`, levels) + strings.Repeat("}", levels) + `}}` + further + `}`
}

// sideCar is a Deployment with a second container.
func sideCar() *appsv1.Deployment {
	web := memory.NewWeb()
	web.Spec.Template.Spec.Containers = append(web.Spec.Template.Spec.Containers, corev1.Container{Name: "side", Image: "theirs", TTY: true})
	return web
}

// bodyOf decodes a body.
func bodyOf(t *testing.T, text string) (object map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	return object
}

// cache is an informer cache that holds one deployment, or fails.
type cache struct {
	client.Reader

	object *appsv1.Deployment
	err    error
}

func (c cache) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	if c.err != nil {
		return c.err
	}
	if c.object == nil || key != client.ObjectKeyFromObject(c.object) {
		return apierrors.NewNotFound(deployments, key.Name)
	}
	c.object.DeepCopyInto(into.(*appsv1.Deployment))
	return nil
}

// ignoredUpdates is embedded in the metrics of tests that only apply.
type ignoredUpdates struct{}

func (ignoredUpdates) ObserveUpdate(apply.UpdateObservation) {}

func webAt(uid types.UID) apply.ObjectRef {
	object := webRef()
	object.UID, object.GroupVersionKind = uid, appsv1.SchemeGroupVersion.WithKind("Deployment")
	return object
}
