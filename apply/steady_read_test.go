package apply

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/openapi"
	"k8s.io/client-go/openapi/openapitest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply/internal/schemas"
	"coapply.dev/apply/internal/steady"
	"coapply.dev/internal/recent"
)

// wrapped is how some projects keep unstructured objects.
type wrapped struct{ unstructured.Unstructured }

func unstructuredOf(t *testing.T, object client.Object) unstructured.Unstructured {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		t.Fatal(err)
	}
	read := unstructured.Unstructured{Object: content}
	read.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("Deployment"))
	return read
}

// TestSteadyReads: the caller's object may be of any type, and is left alone.
func TestSteadyReads(t *testing.T) {
	cache := &shopCache{}
	a := newShopApplier(t, cache)
	cache.deployment = applied(t, a)
	read := &wrapped{unstructuredOf(t, cache.deployment)}
	wantSteady(t, a, Intent{Config: shop(), Read: read}, true)
	if len(read.GetManagedFields()) != 4 || cache.reads != 0 {
		t.Errorf("%d reads, then it has the managed fields %v", cache.reads, read.GetManagedFields())
	}
	cache.deployment.ResourceVersion = "1001"
	for name, read := range map[string]client.Object{
		"a typed object that is no kind": &struct{ *appsv1.Deployment }{cache.deployment},
		"no pointer":                     struct{ *appsv1.Deployment }{cache.deployment},
		"no metadata":                    &unstructured.Unstructured{},
	} {
		if outcome, err := a.Apply(t.Context(), Intent{Config: shop(), Read: read}); err == nil {
			t.Errorf("%s: %+v", name, outcome)
		}
		if len(cache.deployment.ManagedFields) != 4 {
			t.Fatalf("%s: it was written to", name)
		}
	}
}

// TestSteadyReadBy: another reader has the same memory, and an object of its own.
func TestSteadyReadBy(t *testing.T) {
	cache, other := &shopCache{}, &shopCache{}
	a := newShopApplier(t, cache)
	cache.deployment = applied(t, a)
	wantSteady(t, a, Intent{Config: shop()}, true)
	changed := cache.deployment.DeepCopy()
	changed.ResourceVersion, changed.Labels["tier"] = "1001", "other"
	b := newShopApplier(t, cache)
	b.config.Steady = a.config.Steady.ReadBy(other)
	for _, object := range []*appsv1.Deployment{cache.deployment, changed} {
		other.deployment = object
		wantSteady(t, b, Intent{Config: shop()}, object != changed)
	}
	if cache.reads != 1 || other.reads != 2 {
		t.Errorf("%d reads by the one, %d by the other", cache.reads, other.reads)
	}
	if (*SteadyState)(nil).ReadBy(other) != nil {
		t.Error("without the check there is one")
	}
}

// TestSteadyDryRun: a plan needs the server's answer.
func TestSteadyDryRun(t *testing.T) {
	cache := &shopCache{}
	a := newShopApplier(t, cache)
	cache.deployment = applied(t, a)
	wantSteady(t, a, Intent{Config: shop()}, true)
	for range 2 {
		_, call := a.begin(t.Context(), Intent{Config: shop()})
		call.dryRun = true
		if landed, err := call.run(t.Context()); err == nil {
			t.Errorf("%v without a dry run", landed)
		}
		a.config.Steady.proven = recent.New[steady.Key, *proven](1)
	}
}

// TestSteadySecret: why the check fails may quote values.
func TestSteadySecret(t *testing.T) {
	read := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret",
		"metadata": map[string]any{"name": "key", "namespace": "shop"}, "data": map[string]any{"key": []any{"hunter2"}}}}
	read.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "shop", Operation: metav1.ManagedFieldsOperationApply,
		APIVersion: "v1", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:data":{"f:key":{}}}`)}})
	intent := read.DeepCopy()
	intent.SetManagedFields(nil)
	var log []string
	ctx := logr.NewContext(t.Context(), funcr.New(func(_, text string) { log = append(log, text) }, funcr.Options{Verbosity: 1}))
	a := newShopApplier(t, &shopCache{})
	if _, err := a.Apply(ctx, Intent{Config: client.ApplyConfigurationFromUnstructured(intent), Read: read}); err == nil {
		t.Error("it was to be sent")
	}
	if all := strings.Join(log, "\n"); !strings.Contains(all, `"because"="(hidden)"`) || strings.Contains(all, "hunter2") {
		t.Error(all)
	}
	cache := &shopCache{}
	log = nil
	a = newShopApplier(t, cache)
	cache.deployment = applied(t, a)
	if _, err := a.Apply(ctx, Intent{Config: shop().WithLabels(map[string]string{"a": "b"})}); err == nil {
		t.Error("it was to be sent")
	}
	if all := strings.Join(log, "\n"); !strings.Contains(all, `"because"="the field manager does not own exactly the fields that the intent sets"`) {
		t.Errorf("of a Deployment the reason is told: %s", all)
	}
}

// countingServer counts what is asked of it.
type countingServer struct {
	openapi.Client
	paths, documents int
	err              error // of all paths
}

func (s *countingServer) Paths() (map[string]openapi.GroupVersion, error) {
	s.paths++
	if s.err != nil {
		return nil, s.err
	}
	all, err := s.Client.Paths()
	for path, version := range all {
		all[path] = countedVersion{version, s}
	}
	return all, err
}

type countedVersion struct {
	openapi.GroupVersion
	server *countingServer
}

func (v countedVersion) Schema(contentType string) ([]byte, error) {
	v.server.documents++
	return v.GroupVersion.Schema(contentType)
}

// TestSteadyExpires: what was proven by schemas that have changed since is proven anew.
func TestSteadyExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cache := &shopCache{}
		a := newUnknowingApplier(t, cache)
		server := &countingServer{Client: openapitest.NewEmbeddedFileClient()}
		a.config.Steady.schemas = schemas.New(server)
		cache.deployment = applied(t, a)
		wantSteady(t, a, Intent{Config: shop()}, true)
		for version := range 20 { // others write all the time
			time.Sleep(2 * time.Minute)
			cache.deployment = cache.deployment.DeepCopy()
			cache.deployment.ResourceVersion = strconv.Itoa(1001 + version)
			wantSteady(t, a, Intent{Config: shop()}, true)
		}
		synctest.Wait()
		if server.paths < 2 || server.paths > 4 {
			t.Errorf("asked for schemas %d times in 40 minutes", server.paths)
		}
		server.Client = noSchemas{server.Client}
		time.Sleep(12 * time.Minute)
		_, _ = a.Apply(t.Context(), Intent{Config: shop()}) // asks again, in the background
		synctest.Wait()
		wantSteady(t, a, Intent{Config: shop()}, false)
	})
}

// noSchemas is a server that has lost its kinds.
type noSchemas struct{ openapi.Client }

func (noSchemas) Paths() (map[string]openapi.GroupVersion, error) { return nil, nil }

// TestSteadyWithoutSchemas: what cannot be proven is sent.
func TestSteadyWithoutSchemas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cache := &shopCache{}
		a := newUnknowingApplier(t, cache)
		cache.deployment = applied(t, a)
		a.config.Steady.schemas = schemas.New(&countingServer{err: errors.New("no right to read schemas")})
		wantSteady(t, a, Intent{Config: shop()}, false)
	})
}

// TestNewSteadyState: what is left out is named, not found missing by the first apply.
func TestNewSteadyState(t *testing.T) {
	if _, err := NewSteadyState(nil, openapitest.NewEmbeddedFileClient()); err == nil || !strings.Contains(err.Error(), "a reader is needed") {
		t.Error(err)
	}
	if _, err := NewSteadyState(&shopCache{}, nil); err == nil || !strings.Contains(err.Error(), "schemas are needed") {
		t.Error(err)
	}
}

// TestSteadyKubectl: to an apply of that name the server adds its annotation.
func TestSteadyKubectl(t *testing.T) {
	cache := &shopCache{}
	a := newShopApplier(t, cache)
	cache.deployment = applied(t, a)
	a.config.FieldManager, cache.deployment.ManagedFields[2].Manager = "kubectl", "kubectl"
	wantSteady(t, a, Intent{Config: shop()}, false)
}

// TestNoSchemaInVain: what can be told without the server's schemas does not ask for them.
func TestNoSchemaInVain(t *testing.T) {
	cache := &shopCache{}
	a := newShopApplier(t, cache)
	cache.deployment = applied(t, a)
	cache.deployment.ManagedFields = nil
	server := &countingServer{Client: openapitest.NewEmbeddedFileClient()}
	a.config.Steady.schemas = schemas.New(server)
	wantSteady(t, a, Intent{Config: shop()}, false)
	if server.paths != 0 || server.documents != 0 {
		t.Errorf("it was asked %d times for paths and %d for documents", server.paths, server.documents)
	}
}
