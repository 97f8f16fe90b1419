package gotypes

import (
	"reflect"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"

	"coapply.dev/fieldowners"
)

func TestIsBytes(t *testing.T) {
	for _, test := range []struct {
		of   reflect.Type
		path string
		want bool
	}{
		{reflect.TypeFor[corev1.Secret](), `.data["a.b"]`, true},
		{reflect.TypeFor[corev1.Secret](), ".data", false},
		{reflect.TypeFor[corev1.Secret](), ".stringData.a", false},
		{reflect.TypeFor[corev1.Secret](), ".metadata.annotations.a", false},
		{reflect.TypeFor[corev1.Secret](), ".nothing.a", false},
		{reflect.TypeFor[corev1.ConfigMap](), ".binaryData.a", true},
		{reflect.TypeFor[corev1.ConfigMap](), ".data.a", false},
		{reflect.TypeFor[admissionv1.ValidatingWebhookConfiguration](), `.webhooks[name="w"].clientConfig.caBundle`, true},
		{reflect.TypeFor[admissionv1.ValidatingWebhookConfiguration](), `.webhooks[name="w"].clientConfig.url`, false},
		{nil, ".data.a", false},
	} {
		if got := IsBytes(test.of, fieldowners.MustParsePath(test.path)); got != test.want {
			t.Errorf("%v %s: %v", test.of, test.path, got)
		}
	}
}
