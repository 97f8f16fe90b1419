package watch

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"coapply.dev/apply"
	"coapply.dev/apply/applytest"
	"coapply.dev/apply/contention"
	"coapply.dev/fieldowners"
	"coapply.dev/fieldowners/contract"
)

// stubReader gives a Shop of a uid with these conditions, or an error.
type stubReader struct {
	client.Reader

	uid        types.UID
	conditions any
	err        error
}

func (r stubReader) Get(_ context.Context, _ client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	read, ok := object.(*unstructured.Unstructured)
	if !ok || read.GroupVersionKind() != ours("Shop") {
		return fmt.Errorf("%T of %v is read", object, object.GetObjectKind().GroupVersionKind())
	}
	if r.conditions != nil {
		read.Object["status"] = map[string]any{"conditions": r.conditions}
	}
	read.SetUID(r.uid)
	return r.err
}

var (
	errNoAnswer = errors.New("no answer")
	errApplied  = errors.New("this was applied")
)

// TestMark: what is applied, which is nothing where the condition is as it is wanted.
func TestMark(t *testing.T) {
	subject := apply.ObjectRef{GroupVersionKind: ours("Shop"), NamespacedName: types.NamespacedName{Namespace: "shop", Name: "box"}, UID: "x"}
	fight := []contention.Trouble{{Reason: contention.ReasonFight}}
	marked := func(troubles []contention.Trouble, others ...string) any { // but for pairs of other fields
		wanted := condition(troubles)
		item := map[string]any{"type": wanted.Type, "status": string(wanted.Status), "reason": wanted.Reason, "message": wanted.Message}
		for i := 0; i < len(others); i += 2 {
			item[others[i]] = others[i+1]
		}
		return []any{item}
	}
	for _, test := range []struct {
		reason   string
		live     stubReader
		troubles []contention.Trouble
		err      error
	}{
		{"calm, and never marked", stubReader{uid: "x"}, nil, nil},
		{"a fight, and not marked", stubReader{uid: "x"}, fight, errApplied},
		{"a fight, and marked", stubReader{uid: "x", conditions: marked(fight)}, fight, nil},
		{"a fight, and marked by another message", stubReader{uid: "x", conditions: marked(fight, "message", "another")}, fight, errApplied},
		{"a fight, and marked by another reason", stubReader{uid: "x", conditions: marked(fight, "reason", "Another")}, fight, errApplied},
		{"a fight, and marked by another status", stubReader{uid: "x", conditions: marked(fight, "status", "Unknown")}, fight, errApplied},
		{"calm, and marked", stubReader{uid: "x", conditions: marked(fight)}, nil, errApplied},
		{"calm, and marked as that", stubReader{uid: "x", conditions: marked(nil)}, nil, nil},
		{"gone", stubReader{err: apierrors.NewNotFound(schema.GroupResource{}, "box")}, fight, nil},
		{"another of its name", stubReader{uid: "y"}, fight, nil},
		{"cannot be read", stubReader{err: errNoAnswer}, fight, errNoAnswer},
	} {
		if err := applying(t, test.live).mark(t.Context(), subject, test.troubles); !errors.Is(err, test.err) {
			t.Errorf("%s: %v", test.reason, err)
		}
	}
	if err := applying(t, stubReader{uid: "x", conditions: "none"}).mark(t.Context(), subject, fight); err == nil || errors.Is(err, errApplied) {
		t.Errorf("conditions that are no list: %v", err)
	}
	told := applying(t, stubReader{uid: "x"})
	told.marks.Store(ours("Shop").GroupKind(), false)
	if err := told.mark(t.Context(), subject, fight); err != nil {
		t.Errorf("what cannot bear the condition: %v", err)
	}
	told.marks.Clear()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := told.mark(ended, subject, fight); !errors.Is(err, context.Canceled) {
		t.Errorf("nobody waits for whether it can: %v", err)
	}
}

// TestMarkGone has the object replaced by another one between the read and the apply.
func TestMarkGone(t *testing.T) {
	c := applytest.Inject(t, fake.NewClientBuilder().Build(), applytest.Fault{
		Call: applytest.Call{Verb: applytest.VerbApply, Kind: "Shop"}, Answer: applytest.UIDChanged(),
	})
	told := applying(t, stubReader{uid: "x"})
	told.applier = applierOf(t, c, told.live)
	subject := apply.ObjectRef{GroupVersionKind: ours("Shop"), NamespacedName: types.NamespacedName{Namespace: "shop", Name: "box"}, UID: "x"}
	if err := told.mark(t.Context(), subject, []contention.Trouble{{Reason: contention.ReasonFight}}); err != nil {
		t.Error(err)
	}
}

// TestMayMark: a kind cannot bear the condition by an answer that is of the kind, not of one object. That it can takes a
// dry run, which the fake client does not know.
func TestMayMark(t *testing.T) {
	web := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "x"}}
	for _, test := range []struct {
		reason string
		answer applytest.Answer
		ends   bool // the context has
		known  bool
		said   int
		err    error
	}{
		{"it may not be written", applytest.Forbidden(), false, true, 1, nil},
		{"it is another one now", applytest.UIDChanged(), false, false, 0, nil},
		{"it is gone", applytest.UIDGone(), false, false, 0, nil},
		{"nobody waits for the answer", applytest.Hangs(), true, false, 0, context.Canceled},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := applytest.Inject(t, fake.NewClientBuilder().Build(), applytest.Fault{Call: applytest.Call{Verb: applytest.VerbApply}, Answer: test.answer})
			told, said := &teller{live: c, applier: applierOf(t, c, c)}, 0
			ctx, cancel := context.WithCancel(logr.NewContext(t.Context(), funcr.New(func(string, string) { said++ }, funcr.Options{})))
			defer cancel()
			if test.ends {
				time.AfterFunc(time.Second, cancel) // once it hangs
			}
			subject := apply.ObjectRef{GroupVersionKind: deployments, NamespacedName: client.ObjectKeyFromObject(web), UID: "x"}
			config, err := status(subject, nil, condition([]contention.Trouble{{Reason: contention.ReasonFight}}))
			if err != nil {
				t.Fatal(err)
			}
			may, err := told.mayMark(ctx, apply.Intent{Config: config, Subresource: "status", UID: "x"}, deployments.GroupKind())
			stored, known := told.marks.Load(deployments.GroupKind())
			if may || known != test.known || known && stored != false || said != test.said || !errors.Is(err, test.err) {
				t.Errorf("%s: may %v, known %v (%v), %d lines, %v", test.reason, may, known, stored, said, err)
			}
		})
	}
}

func applierOf(t *testing.T, c client.Client, live client.Reader) *apply.Applier {
	t.Helper()
	applier, err := apply.New(c, apply.Config{FieldManager: contention.FieldManager, LiveReader: live})
	if err != nil {
		t.Fatal(err)
	}
	return applier
}

// applying returns a teller that may mark Shops, and whose applies end in errApplied.
func applying(t *testing.T, live client.Reader) *teller {
	t.Helper()
	c := interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{
		SubResourceApply: func(context.Context, client.Client, string, runtime.ApplyConfiguration, ...client.SubResourceApplyOption) error {
			return errApplied
		},
	})
	told := &teller{live: live, applier: applierOf(t, c, live)}
	told.marks.Store(ours("Shop").GroupKind(), true)
	return told
}

// TestHugeTrouble: the key of a list item may be as long as an object, and what is
// longer than a condition's message may be is refused.
func TestHugeTrouble(t *testing.T) {
	other := fieldowners.Manager{Name: strings.Repeat("ä", 40_000)}
	message := condition([]contention.Trouble{{Reason: contention.ReasonFight, B: other}}).Message
	if len(message) > 32_768 || !strings.HasSuffix(message, "ä…") {
		t.Errorf("%d bytes, ending in %q", len(message), message[len(message)-10:])
	}
}

func TestConditionIsStable(t *testing.T) {
	if c := condition(nil); c.Status != metav1.ConditionFalse || c.Reason != "Calm" {
		t.Errorf("%+v", c)
	}
	many := make([]contention.Trouble, 100)
	for i := range many {
		many[i].Reason = contention.ReasonLoop
	}
	if c := condition(many); c.Status != metav1.ConditionTrue || !strings.HasSuffix(c.Message, "and 92 more") {
		t.Errorf("%+v", c)
	}
}

// TestClaims: the condition is all that is applied.
func TestClaims(t *testing.T) {
	shops := contract.Contract{{Manager: contention.FieldManager, Kind: ours("Shop").GroupKind(), Applies: []string{`.status.conditions[type="Contended"]`}}}
	applytest.Owns(t, shops, func(kind schema.GroupVersionKind) ([]apply.Intent, error) {
		subject := apply.ObjectRef{GroupVersionKind: kind, NamespacedName: types.NamespacedName{Name: "x"}}
		config, err := status(subject, nil, condition([]contention.Trouble{{Reason: contention.ReasonLoop}}))
		return []apply.Intent{{Config: config, Subresource: "status"}}, err
	}, ours("Shop"))
}
