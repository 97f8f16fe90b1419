package fights

import (
	"context"
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/contention"
	"coapply.dev/fieldowners"
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
	subject := apply.ObjectRef{GroupVersionKind: ours("Devbox"), NamespacedName: types.NamespacedName{Namespace: "shop", Name: "box"}, UID: "x"}
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
