package apply

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"coapply.dev/fieldowners"
)

func TestLoopText(t *testing.T) {
	object := ObjectRef{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"},
		NamespacedName: types.NamespacedName{Namespace: "web", Name: "page"}}
	managers := func(names ...string) (all []fieldowners.Manager) {
		for _, name := range names {
			all = append(all, fieldowners.Manager{Name: name, Operation: metav1.ManagedFieldsOperationApply})
		}
		return all
	}
	const begin = `the field manager "shop" changed ConfigMap web/page more than 30 times within a minute. ` +
		"Another writer undoes each change, or two writers apply different values under this name. "
	const end = ". kubectl fieldowners watch shows who changes which field"
	for _, test := range []struct {
		others []fieldowners.Manager
		want   string
	}{
		{nil, "No other field manager owns a field of the object"},
		{managers("b", "a", "b"), "The other field managers of the object are b/Apply, a/Apply"},
		{managers("a", "b", "c", "d", "e"), "The other field managers of the object are a/Apply, b/Apply, c/Apply, and 2 more"},
	} {
		if got := loopText("shop", object, test.others); got != begin+test.want+end {
			t.Errorf("got\n%s\nwant\n%s", got, begin+test.want+end)
		}
	}
}
