package apply

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/test/kit"
)

// newCache starts a cache of the namespace; strip has it drop managed fields.
func newCache(t *testing.T, namespace string, strip bool) cache.Cache {
	t.Helper()
	options := cache.Options{Scheme: kit.Scheme, DefaultNamespaces: map[string]cache.Config{namespace: {}}}
	if strip {
		options.DefaultTransform = cache.TransformStripManagedFields()
	}
	informers, err := cache.New(kit.Server(t), options)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- informers.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return informers
}

// seen waits until the cache has the live object.
func seen(s *kit.Stage, informers client.Reader) {
	s.T.Helper()
	live := s.Live().GetResourceVersion()
	s.Must(wait.PollUntilContextTimeout(s.T.Context(), 5*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		object := s.Object(`{}`)
		err := informers.Get(ctx, client.ObjectKeyFromObject(object), object)
		return err == nil && object.GetResourceVersion() == live, client.IgnoreNotFound(err)
	}))
}

const (
	complete  = `{spec: {title: x, port: 1, free: {a: "1", b: "2", c: "3"}, parts: [{name: nut, color: red, marks: {m: x}}]}}` // 8 leaves
	sendsRead = "GET 200, PATCH 200"
)

// TestShrinkGuard sends the same complete intent first, by a manager that may give
// up a quarter of its fields at once, then another.
func TestShrinkGuard(t *testing.T) {
	c := kit.ShapeClient(t)
	namespace := kit.NewNamespace(t, c)
	plain, stripped := newCache(t, namespace, false), newCache(t, namespace, true)
	for _, test := range []struct {
		reason  string
		reader  client.Reader
		ours    string
		may     bool
		sends   string
		dropped []string
	}{
		{"the same", plain, complete, false, sendsOne, nil},
		{"other values are not less", plain, `{spec: {title: z, port: 2, free: {a: z, b: z, c: z}, parts: [{name: nut, color: z, marks: {m: z}}]}}`, false, sendsOne, nil},
		{"more", plain, `{spec: {title: x, port: 1, tags: [a], free: {a: "1", b: "2", c: "3"}, parts: [{name: nut, color: red, marks: {m: x}}]}}`, false, sendsOne, nil},
		{"a little less", plain, `{spec: {title: x, free: {a: "1", b: "2"}, parts: [{name: nut, color: red, marks: {m: x}}]}}`, false, sendsOne, nil},
		{
			"too much less", plain, `{spec: {title: x, free: {a: "1"}, parts: [{name: nut, color: red, marks: {m: x}}]}}`, false, "",
			[]string{".spec.free.b", ".spec.free.c", ".spec.port"},
		},
		{"too much less, and meant", plain, `{spec: {title: x, free: {a: "1"}, parts: [{name: nut, color: red, marks: {m: x}}]}}`, true, sendsOne, nil},
		{
			"an item is gone", plain, `{spec: {title: x, port: 1, free: {a: "1", b: "2", c: "3"}}}`, false, "",
			[]string{kit.Nut + ".color", kit.Nut + ".marks.m", kit.Nut + ".name"},
		},
		{
			"an empty map is not what was in it", plain, `{spec: {title: x, port: 1, free: {}, parts: [{name: nut, color: red, marks: {m: x}}]}}`, false, "",
			[]string{".spec.free.a", ".spec.free.b", ".spec.free.c"},
		},
		{
			"nothing at all", plain, `{}`, false, "",
			[]string{".spec.free.a", ".spec.free.b", ".spec.free.c", kit.Nut + ".color", kit.Nut + ".marks.m", kit.Nut + ".name", ".spec.port", ".spec.title"},
		},
		{"the cache shows no managed fields: they are read", stripped, complete, false, sendsRead, nil},
		{
			"the cache shows no managed fields, and too much less", stripped, `{spec: {title: x, free: {a: "1"}, parts: [{name: nut, color: red, marks: {m: x}}]}}`, false, "GET 200",
			[]string{".spec.free.b", ".spec.free.c", ".spec.port"},
		},
		{"meant: nobody looks", stripped, `{spec: {title: x}}`, true, sendsOne, nil},
	} {
		t.Run(test.reason, func(t *testing.T) {
			recorded, watch := watchedClient(t, true)
			s := kit.NewStage(t, c, namespace, "Shape", "")
			s.Apply("us", complete)
			seen(s, test.reader)
			before := s.Live().GetResourceVersion()
			applier, err := apply.New(cachedClient{recorded, test.reader}, apply.Config{FieldManager: "us", LiveReader: recorded, MaxShrink: 0.25})
			s.Must(err)
			watch.take()
			_, err = applier.Apply(t.Context(), apply.Intent{Config: s.Config(test.ours), MayShrink: test.may})
			if sent := watch.take(); sent != test.sends {
				t.Errorf("sent %q, want %q", sent, test.sends)
			}
			if test.dropped == nil {
				s.Must(err)
				return
			}
			var shrink *apply.ShrinkError
			if !errors.As(err, &shrink) || !errors.Is(err, apply.ErrShrink) {
				t.Fatalf("got %v, want a ShrinkError", err)
			}
			var dropped []string
			for _, path := range shrink.Dropped {
				dropped = append(dropped, path.String())
			}
			slices.Sort(dropped)
			slices.Sort(test.dropped)
			if diff := cmp.Diff(test.dropped, dropped); diff != "" || shrink.Owned != 8 || shrink.Max != 0.25 || shrink.FieldManager != "us" {
				t.Errorf("%+v; dropped (-want +got):\n%s", shrink, diff)
			}
			if s.Live().GetResourceVersion() != before {
				t.Error("something of it landed")
			}
		})
	}
}

// cachedClient writes with one client and reads from a cache.
type cachedClient struct {
	client.Client

	reader client.Reader
}

func (c cachedClient) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	return c.reader.Get(ctx, key, object, options...)
}

func TestShrinkGuardWithoutAnythingToLose(t *testing.T) {
	kit.ShapeClient(t)
	c, watch := watchedClient(t, true)
	s := kit.NewStage(t, c, kit.NewNamespace(t, c), "Shape", "")
	applier, err := apply.New(c, apply.Config{FieldManager: "us", LiveReader: c, MaxShrink: 0.01})
	s.Must(err)
	for _, step := range []struct {
		reason, name, ours, sends string
		happens                   func()
	}{
		{reason: "the first apply to an object", ours: `{spec: {title: x, port: 1}}`, sends: sendsRead},
		{reason: "the object is new", name: "new", ours: complete, sends: "GET 404, PATCH 201"},
		{reason: "all managed fields were wiped", ours: `{spec: {title: x}}`, happens: func() { wipe(s) }, sends: "GET 200, " + sendsRead},
		{reason: "others own all of it", ours: `{spec: {title: x}}`, happens: func() { s.Apply("other", complete) }, sends: sendsRead},
	} {
		if step.happens != nil {
			step.happens()
		}
		named := *s
		if step.name != "" {
			named.Name = step.name
		}
		watch.take()
		_, err := applier.Apply(t.Context(), apply.Intent{Config: named.Config(step.ours)})
		if sent := watch.take(); err != nil || sent != step.sends {
			t.Errorf("%s: %v; sent %q, want %q", step.reason, err, sent, step.sends)
		}
	}
}
