package user

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/apply/applytest"
	"coapply.dev/apply/reconciler"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/fieldmanagers"
)

func sample() *v1alpha1.User {
	return &v1alpha1.User{ObjectMeta: metav1.ObjectMeta{Name: "ada", UID: "0000-1", Generation: 1}}
}

func with(change func(*v1alpha1.User)) *v1alpha1.User {
	user := sample()
	change(user)
	return user
}

func complete() *v1alpha1.User {
	return with(func(u *v1alpha1.User) {
		u.Spec.DisplayName = "Ada Lovelace"
		u.Status.Namespace = "user-ada"
	})
}

// TestGoldenIntents shows what the reconciler wants of a User. Write the files anew
// with: APPLYTEST_UPDATE=1 go test ./platform/controllers/user -run Golden
func TestGoldenIntents(t *testing.T) {
	for _, test := range []struct {
		name string
		user *v1alpha1.User
	}{
		{"first", sample()},
		{"named", with(func(u *v1alpha1.User) { u.Spec.DisplayName = "Ada Lovelace" })},
		{"complete", complete()},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := test.user.DeepCopy()
			intents, err := emit(test.user)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(before, test.user); diff != "" {
				t.Errorf("emitting changed the User:\n%s", diff)
			}
			applytest.Golden(t, filepath.Join("testdata", test.name+".yaml"), intents...)
		})
	}
}

// TestEmitIntoAnothersNamespace: two Users have one field manager, so that nothing
// conflicts where one of them writes into the Namespace of the other.
func TestEmitIntoAnothersNamespace(t *testing.T) {
	forged := with(func(u *v1alpha1.User) { u.Status.Namespace = "user-bob" })
	intents, err := emit(forged)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(intents); n != 1 {
		t.Errorf("%d intents, want that of its own Namespace alone", n)
	}
	there := &corev1.Namespace{}
	if got := conditionOf(forged, there, reconciler.Applied{}); got.Status != metav1.ConditionUnknown {
		t.Errorf("nothing is in its Namespace: %+v", got)
	}
}

func TestClaims(t *testing.T) {
	applytest.Owns(t, fieldmanagers.All().Of(fieldmanagers.User), emit, complete())
}
