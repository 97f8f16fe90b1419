package setup

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

func TestDelete(t *testing.T) {
	pods, down := schema.GroupResource{Resource: "pods"}, errors.New("down")
	for _, test := range []struct {
		reason       string
		answer, want error
	}{
		{"deleted", nil, nil},
		{"gone", apierrors.NewNotFound(pods, "a"), nil},
		{"another one has its name, or it was written to", apierrors.NewConflict(pods, "a", nil), nil},
		{"anything else is told", down, down},
	} {
		var sent client.DeleteOptions
		c := interceptor.NewClient(fake.NewFakeClient(), interceptor.Funcs{
			Delete: func(_ context.Context, _ client.WithWatch, _ client.Object, options ...client.DeleteOption) error {
				sent.ApplyOptions(options)
				return test.answer
			},
		})
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "u", ResourceVersion: "7"}}
		if err := Delete(t.Context(), c, c, pod, client.GracePeriodSeconds(0)); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", test.reason, err, test.want)
		}
		if *sent.Preconditions.UID != "u" || *sent.GracePeriodSeconds != 0 || !sent.DisableReadYourWritesConsistency {
			t.Errorf("%s: sent with %+v", test.reason, sent)
		}
		asRead, err := DeleteAsRead(t.Context(), c, c, pod)
		if !errors.Is(err, test.want) || asRead != (test.answer == nil) {
			t.Errorf("%s: as read: %t, %v, want %v", test.reason, asRead, err, test.want)
		}
		if *sent.Preconditions.UID != "u" || *sent.Preconditions.ResourceVersion != "7" || !sent.DisableReadYourWritesConsistency {
			t.Errorf("%s: sent as read with %+v", test.reason, sent)
		}
	}
}
