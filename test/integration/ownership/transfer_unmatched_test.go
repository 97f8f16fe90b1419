package ownership

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"coapply.dev/apply"
	"coapply.dev/test/kit"
)

// TestTransferTellsOfMisspellings is without an error, and says what was not found.
func TestTransferTellsOfMisspellings(t *testing.T) {
	c := kit.NewClient(t, kit.Server(t))
	namespace := kit.NewNamespace(t, c)
	kit.MustApply(t, kit.NewApplier(t, c, "former", apply.Policy{}), apply.Intent{
		Config: corev1ac.ConfigMap("a", namespace).WithData(map[string]string{"k": "v"})})
	us, ref := kit.NewApplier(t, c, "us", apply.Policy{}), kit.RefTo(corev1.SchemeGroupVersion.WithKind("ConfigMap"), namespace, "a")
	for _, test := range []struct {
		look func(context.Context, apply.ObjectRef, ...apply.From) (*apply.Transfer, error)
		from apply.From
		want string
	}{
		{us.Rename, apply.From{Manager: "fromer"}, "fromer/Apply owns nothing here; the owners are former/Apply"},
		{us.Migrate, apply.From{Manager: "former"}, "former/Update owns nothing here; it owns by Apply: use Rename"},
		{us.Rename, apply.From{Manager: "former", Paths: []string{".data.kk"}}, "former/Apply owns nothing at or below .data.kk"},
	} {
		transfer, err := test.look(t.Context(), ref, test.from)
		if err == nil {
			_, err = transfer.Do(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		want := strings.Join([]string{"on ConfigMap " + namespace + "/a: 0 fields to move, 0 to stay", "  none " + test.want, ""}, "\n")
		if _, got, _ := strings.Cut(transfer.String(), " "); got != want {
			t.Errorf("(-want +got):\n%s", cmp.Diff(want, got))
		}
	}
}

// TestTransferScope has references of the wrong scope, and the real mapping of kinds.
func TestTransferScope(t *testing.T) {
	c := kit.NewClient(t, kit.Server(t))
	us := kit.NewApplier(t, c, "us", apply.Policy{})
	for want, ref := range map[string]apply.ObjectRef{
		"a namespace is needed: ConfigMap is namespaced":             kit.RefTo(corev1.SchemeGroupVersion.WithKind("ConfigMap"), "", "a"),
		`it has a namespace, "default": Namespace is not namespaced`: kit.RefTo(corev1.SchemeGroupVersion.WithKind("Namespace"), "default", "a"),
	} {
		_, migrating := us.Migrate(t.Context(), ref, apply.From{Manager: "x"})
		_, releasing := us.Release(t.Context(), ref)
		for _, err := range []error{migrating, releasing} {
			if !errors.Is(err, apply.ErrInvalidIntent) || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %q", err, want)
			}
		}
	}
}
