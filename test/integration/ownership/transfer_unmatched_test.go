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
	"coapply.dev/apply/ownership"
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
		look func(context.Context, *apply.Applier, apply.ObjectRef, ...ownership.From) (*ownership.Transfer, error)
		from ownership.From
		want string
	}{
		{ownership.Rename, ownership.From{Manager: "fromer"}, "fromer/Apply owns no field of the object; the owners are former/Apply"},
		{ownership.Migrate, ownership.From{Manager: "former"}, "former/Update owns no field of the object; the manager owns fields by Apply: use Rename"},
		{ownership.Rename, ownership.From{Manager: "former", Paths: []string{".data.kk"}}, "former/Apply owns no field at or below .data.kk"},
	} {
		transfer, err := test.look(t.Context(), us, ref, test.from)
		if err == nil {
			_, err = transfer.Do(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		want := strings.Join([]string{"on ConfigMap " + namespace + "/a: 0 fields to move, 0 to stay", "  unmatched: " + test.want, ""}, "\n")
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
		"a namespace is needed: ConfigMap is namespaced":                                kit.RefTo(corev1.SchemeGroupVersion.WithKind("ConfigMap"), "", "a"),
		`the object must not have a namespace ("default"): Namespace is not namespaced`: kit.RefTo(corev1.SchemeGroupVersion.WithKind("Namespace"), "default", "a"),
	} {
		_, migrating := ownership.Migrate(t.Context(), us, ref, ownership.From{Manager: "x"})
		_, releasing := ownership.Release(t.Context(), us, ref)
		for _, err := range []error{migrating, releasing} {
			if !errors.Is(err, apply.ErrInvalidIntent) || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %q", err, want)
			}
		}
	}
}
