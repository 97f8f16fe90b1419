package apply

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"coapply.dev/fieldowners"
)

func TestLoopText(t *testing.T) {
	manager := func(name string) fieldowners.Manager {
		return fieldowners.Manager{Name: name, Operation: metav1.ManagedFieldsOperationApply}
	}
	title := func(owners ...fieldowners.Manager) []LoopField {
		path := fieldowners.MustParsePath(".data.title")
		return []LoopField{{fieldowners.Change{Path: path, Before: "a", After: "b", Existed: true, Exists: true}, owners}}
	}
	gone := []LoopField{{Change: fieldowners.Change{Path: fieldowners.MustParsePath(".data.title"), After: "b", Exists: true}}}
	const begin = `the field manager "shop" changed ConfigMap web/page more than 30 times within a minute; the last apply changed `
	for _, test := range []struct {
		reason string
		loop   Loop
		want   string
	}{
		{"one process", Loop{Fields: title(manager("shop")), Alone: true},
			`.data.title from "a" (owned by shop/Apply) to "b". Nobody else wrote in between: this process applies both under this name. ` +
				`Give each controller a field manager of its own, and apply the same intent as long as its input is the same. ` +
				`If neither value is in an intent, an admission webhook sets the field`},
		{"two processes", Loop{Fields: title(manager("shop"))},
			`.data.title from "a" (owned by shop/Apply) to "b". Another process applies under this name, or this process applies both. ` +
				`Give each writer a field manager of its own, and apply the same intent as long as its input is the same`},
		{"another manager, and many fields", Loop{Fields: append(append(title(manager("other")), gone...), append(gone, gone...)...)},
			`.data.title from "a" (owned by other/Apply) to "b", .data.title from absent to "b", .data.title from absent to "b", and 1 more. ` +
				`other/Apply changes the value back after each apply: stop one of the two, or relinquish the field by apply.Relinquish`},
		{"an editor that owns other fields", Loop{Fields: gone, Others: []fieldowners.Manager{manager("a"), manager("a"), manager("b"), manager("c"), manager("d")}},
			`.data.title from absent to "b". Another writer removes the value after each apply; ` +
				`the other managers of the object are a/Apply, b/Apply, c/Apply, and 1 more: stop one of the two`},
		{"an editor that owns nothing", Loop{Fields: gone},
			`.data.title from absent to "b". Another writer, which owns nothing of the object, removes the value after each apply: stop one of the two`},
		{"deletions", Loop{Recreated: true},
			`the object from absent to what the intent lists. Somebody deletes the object after each apply: stop the one or the other`},
	} {
		test.loop.FieldManager = "shop"
		test.loop.Object = ObjectRef{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"},
			NamespacedName: types.NamespacedName{Namespace: "web", Name: "page"}}
		if got := test.loop.String(); got != begin+test.want {
			t.Errorf("%s: got\n%s\nwant\n%s", test.reason, got, begin+test.want)
		}
	}
}
