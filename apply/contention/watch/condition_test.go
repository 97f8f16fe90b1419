package watch

import (
	"context"
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/applytest"
	"coapply.dev/apply/contention"
	"coapply.dev/fieldowners"
	"coapply.dev/fieldowners/contract"
)

// stubReader gives an object of a uid, or an error.
type stubReader struct {
	client.Reader

	uid types.UID
	err error
}

func (r stubReader) Get(_ context.Context, _ client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	object.SetUID(r.uid)
	return r.err
}

// TestNothingToMark has no applier: whoever wants to write panics.
func TestNothingToMark(t *testing.T) {
	subject := apply.ObjectRef{GroupVersionKind: ours("Shop"), NamespacedName: types.NamespacedName{Namespace: "shop", Name: "box"}, UID: "x"}
	fight := []contention.Trouble{{Reason: contention.ReasonFight}}
	broken := errors.New("no answer")
	for _, test := range []struct {
		reason   string
		live     stubReader
		troubles []contention.Trouble
		err      error
	}{
		{"calm, and never marked", stubReader{uid: "x"}, nil, nil},
		{"gone", stubReader{err: apierrors.NewNotFound(schema.GroupResource{}, "box")}, fight, nil},
		{"another of its name", stubReader{uid: "y"}, fight, nil},
		{"cannot be read", stubReader{err: broken}, fight, broken},
	} {
		if err := (&teller{live: test.live}).mark(t.Context(), subject, test.troubles); !errors.Is(err, test.err) {
			t.Errorf("%s: %v", test.reason, err)
		}
	}
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
