package applyset

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"coapply.dev/apply"
)

// TestSame: what is told once.
func TestSame(t *testing.T) {
	kept := func(uid types.UID, namespace, reason string) Kept {
		name := types.NamespacedName{Namespace: namespace, Name: "a"}
		return Kept{Object: apply.ObjectRef{NamespacedName: name, UID: uid}, Reason: reason}
	}
	for _, test := range []struct {
		reason string
		other  Kept
		same   bool
	}{
		{"as before", kept("uid", "shop", "why"), true},
		{"recreated", kept("uid-2", "shop", "why"), false},
		{"another object", kept("uid", "elsewhere", "why"), false},
		{"for another reason", kept("uid", "shop", "else"), false},
	} {
		if got := kept("uid", "shop", "why").same(test.other); got != test.same {
			t.Errorf("%s: %t", test.reason, got)
		}
	}
}
