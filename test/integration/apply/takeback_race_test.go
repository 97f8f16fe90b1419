package apply

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"coapply.dev/apply"
	"coapply.dev/apply/lanes"
	"coapply.dev/fieldowners"
	"coapply.dev/test/kit"
)

// wipedPair is a ConfigMap that lost its managed fields, and two managers of it.
type wipedPair struct {
	name           string
	namespace      string
	plain          client.Client
	first, another *apply.Applier
}

// newWipedPair makes the appliers with clients of their own.
func newWipedPair(t *testing.T, name, namespace string, plain, firstClient, anotherClient client.Client, lanes *lanes.Set) *wipedPair {
	t.Helper()
	applier := func(c client.Client, key string) *apply.Applier {
		a, err := apply.New(c, apply.Config{FieldManager: key, LiveReader: c, Lanes: lanes,
			Contract: apply.Contract{{Manager: key, Kind: schema.GroupKind{Kind: "ConfigMap"}, Applies: []string{".data." + key}}}})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	p := &wipedPair{name, namespace, plain, applier(firstClient, "first"), applier(anotherClient, "another")}
	for _, a := range []*apply.Applier{p.first, p.another} {
		if _, err := a.Apply(t.Context(), p.intent(a, "1")); err != nil {
			t.Fatal(err)
		}
	}
	wipeFields(t, plain, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}})
	return p
}

// intent sets the key that is called like its manager.
func (p *wipedPair) intent(a *apply.Applier, value string) apply.Intent {
	return apply.Intent{Config: corev1ac.ConfigMap(p.name, p.namespace).WithData(map[string]string{a.FieldManager(): value}), Belongs: kit.BelongsAlways}
}

func (p *wipedPair) takesBack(t *testing.T, a *apply.Applier) {
	t.Helper()
	outcome, err := a.Apply(t.Context(), p.intent(a, "2"))
	if want := "[.data." + a.FieldManager() + "]"; err != nil || fmt.Sprint(outcome.TakenBack) != want {
		t.Errorf("%s took back %v, want %s: %v", a.FieldManager(), outcome.TakenBack, want, err)
	}
}

func (p *wipedPair) wantBothBack(t *testing.T) {
	t.Helper()
	for _, key := range []string{"first", "another"} {
		if got := fmt.Sprint(ownersOfConfigMap(t, p, ".data."+key)); got != "["+key+"/Apply]" {
			t.Errorf("%s is owned by %s", key, got)
		}
	}
}

func ownersOfConfigMap(t *testing.T, p *wipedPair, path string) (owners []string) {
	t.Helper()
	ownership, err := fieldowners.Parse(kit.LiveAt(t, p.plain, kit.RefTo(corev1.SchemeGroupVersion.WithKind("ConfigMap"), p.namespace, p.name)).GetManagedFields())
	if err != nil {
		t.Fatal(err)
	}
	for _, owner := range ownership.OwnersOf(fieldowners.MustParsePath(path)) {
		owners = append(owners, owner.String())
	}
	return owners
}

// TestTakeBackOvertaken: between a read and a write of one that takes fields back another
// process takes back its own. Neither fails.
func TestTakeBackOvertaken(t *testing.T) {
	t.Parallel()
	plain := kit.NewClient(t, kit.Server(t))
	namespace := kit.NewNamespace(t, plain)
	watching, err := client.NewWithWatch(kit.Server(t), client.Options{Scheme: kit.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []string{"the owner is made up", "the fields move"} {
		t.Run(at, func(t *testing.T) {
			var overtake func()
			once := func() {
				if now := overtake; now != nil {
					overtake = nil
					now()
				}
			}
			c := interceptor.NewClient(watching, interceptor.Funcs{
				Apply: func(ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration, options ...client.ApplyOption) error {
					applied := client.ApplyOptions{}
					applied.ApplyOptions(options)
					if at == "the owner is made up" && applied.FieldManager == fieldowners.BeforeFirstApply {
						once()
					}
					return c.Apply(ctx, o, options...)
				},
				Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, options ...client.PatchOption) error {
					if at == "the fields move" && p.Type() == "application/json-patch+json" {
						once()
					}
					return c.Patch(ctx, o, p, options...)
				}})
			p := newWipedPair(t, map[string]string{"the owner is made up": "a", "the fields move": "b"}[at], namespace, plain, c, plain, nil)
			overtake = func() { p.takesBack(t, p.another) }
			p.takesBack(t, p.first)
			if overtake != nil {
				t.Error("nothing overtook it")
			}
			p.wantBothBack(t)
		})
	}
}

// TestTakeBackTakesTurns: two managers of one process take fields back at the same moment,
// and no write of theirs is stale.
func TestTakeBackTakesTurns(t *testing.T) {
	t.Parallel()
	var stale atomic.Int64
	config := rest.CopyConfig(kit.Server(t))
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return answers409{next, &stale} })
	c, plain := kit.NewClient(t, config), kit.NewClient(t, kit.Server(t))
	namespace, lanes := kit.NewNamespace(t, plain), lanes.New()
	for i := range 10 {
		p := newWipedPair(t, fmt.Sprint("a", i), namespace, plain, c, c, lanes)
		var both sync.WaitGroup
		for _, a := range []*apply.Applier{p.first, p.another} {
			both.Go(func() { p.takesBack(t, a) })
		}
		both.Wait()
		p.wantBothBack(t)
	}
	if n := stale.Load(); n > 0 {
		t.Errorf("%d writes were stale", n)
	}
}

// TestTakeBackContended: where every write is overtaken it ends, and says so.
func TestTakeBackContended(t *testing.T) {
	t.Parallel()
	plain := kit.NewClient(t, kit.Server(t))
	namespace := kit.NewNamespace(t, plain)
	watching, err := client.NewWithWatch(kit.Server(t), client.Options{Scheme: kit.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	patches, busy := 0, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "busy"}}
	c := interceptor.NewClient(watching, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, options ...client.PatchOption) error {
			patches++
			touch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"data":{"busy":"%d"}}`, patches))
			return errors.Join(plain.Patch(ctx, busy.DeepCopy(), touch), c.Patch(ctx, o, p, options...))
		}})
	p := newWipedPair(t, busy.Name, namespace, plain, c, plain, nil)
	_, err = p.first.Apply(t.Context(), p.intent(p.first, "2"))
	if !errors.Is(err, apply.ErrContended) || patches != 8 {
		t.Errorf("%d patches: %v; want 8 and that it is contended", patches, err)
	}
}

type answers409 struct {
	next  http.RoundTripper
	count *atomic.Int64
}

func (a answers409) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := a.next.RoundTrip(request)
	if err == nil && response.StatusCode == http.StatusConflict {
		a.count.Add(1)
	}
	return response, err
}
