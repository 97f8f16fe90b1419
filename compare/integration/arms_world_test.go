package compare

import (
	"context"
	"fmt"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/openapi"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/compare"
	"coapply.dev/compare/arms"
	recorded "coapply.dev/compare/history"
	"coapply.dev/test/kit"
)

// armWorld is what a trial would give to arms, without its counting.
type armWorld struct {
	client    client.Client
	namespace string
	session   compare.Session
}

func newArmWorld(t *testing.T) armWorld {
	t.Helper()
	config := kit.Server(t)
	c := kit.NewClient(t, config)
	w := armWorld{client: c, namespace: kit.NewNamespace(t, c)}
	w.session = compare.Session{
		Client:  func(string) client.Client { return c },
		Config:  func(string) *rest.Config { return rest.CopyConfig(config) },
		Schemas: schemasOf(t, config),
	}
	return w
}

// schemasOf gives the API server's schemas.
func schemasOf(t *testing.T, config *rest.Config) openapi.Client {
	t.Helper()
	set, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return set.OpenAPIV3()
}

// withCache opens the cache, which then shows what there is.
func (w armWorld) withCache(t *testing.T) armWorld {
	t.Helper()
	w.session.Cache = kit.StartCache(t, kit.Server(t), cache.Options{DefaultNamespaces: map[string]cache.Config{w.namespace: {}}})
	return w
}

func (w armWorld) writer(t *testing.T, arm compare.Arm) compare.Writer {
	t.Helper()
	writer, err := arm.New(w.session)
	if err != nil {
		t.Fatalf("%s: %v", arm.Name, err)
	}
	return writer
}

func (w armWorld) configMap(t *testing.T, name string) *corev1.ConfigMap {
	t.Helper()
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}, Data: map[string]string{"payload": "x"}}
	if err := w.client.Create(t.Context(), object, client.FieldOwner("payload")); err != nil {
		t.Fatal(err)
	}
	return object
}

// key is the intent of a manager to set one key of a ConfigMap.
func (w armWorld) key(object, manager, key, value string) compare.Intent {
	return compare.Intent{
		Kind: corev1.SchemeGroupVersion.WithKind("ConfigMap"), Namespace: w.namespace, Name: object, Manager: manager,
		Configure: func(*unstructured.Unstructured) map[string]any {
			return map[string]any{"data": map[string]any{key: value}}
		},
		Modify: func(live *unstructured.Unstructured) error {
			return unstructured.SetNestedField(live.Object, value, "data", key)
		},
		Replace: func(live *unstructured.Unstructured) error {
			return unstructured.SetNestedMap(live.Object, map[string]any{key: value}, "data")
		},
	}
}

// atOnce has all intents written at the same time: none writes before all have read.
func atOnce(t *testing.T, writer compare.Writer, intents ...compare.Intent) map[recorded.Outcome]int {
	t.Helper()
	var read, written sync.WaitGroup
	read.Add(len(intents))
	errs := make([]error, len(intents))
	for i, intent := range intents {
		intent.Pause = func(context.Context) error {
			read.Done() // more than once for an intent panics
			read.Wait()
			return nil
		}
		written.Go(func() { _, errs[i] = writer.Write(t.Context(), intent) })
	}
	written.Wait()
	outcomes := map[recorded.Outcome]int{}
	for _, err := range errs {
		outcomes[arms.Classify(err)]++
	}
	if outcomes[recorded.Landed] < len(intents) {
		t.Log(errs)
	}
	return outcomes
}

// parts are the arms that write one object.
func partArms() []compare.Arm {
	var single []compare.Arm
	for _, arm := range arms.All() {
		if arm.Name != "expectations" {
			single = append(single, arm)
		}
	}
	return single
}

func armNamed(t *testing.T, name string) compare.Arm {
	t.Helper()
	arm, ok := compare.Catalogue{Arms: arms.All()}.Arm(name)
	if !ok {
		t.Fatal(fmt.Errorf("no arm %q", name))
	}
	return arm
}
