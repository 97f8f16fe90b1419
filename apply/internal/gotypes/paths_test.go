package gotypes

import (
	"reflect"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"coapply.dev/fieldowners"
)

type opened struct {
	Any   any                  `json:"any"`
	Value runtime.RawExtension `json:"value"`
	Micro *metav1.MicroTime    `json:"micro"`
	Plain corev1.ConfigMap     `json:"plain"`
	Self  pointerMarshaler     `json:"self"`
}

// pointerMarshaler writes itself through a pointer only.
type pointerMarshaler struct{}

func (*pointerMarshaler) MarshalJSON() ([]byte, error) { return []byte("{}"), nil }

// TestHasPath: below a value of which the Go type does not say what it contains, any path may be.
func TestHasPath(t *testing.T) {
	types := []reflect.Type{reflect.TypeFor[pointerMarshaler](), reflect.TypeFor[opened]()}
	for path, says := range map[string]string{
		".any.x": "", ".value.x": "", ".micro.x": "", ".self.x": "", ".plain.data.x": "", `.plain.metadata.ownerReferences[uid="x"].name`: "",
		".x":                     `gotypes.opened has no field "x"`,
		".plain.x":               `v1.ConfigMap has no field "x"`,
		`.plain[name="x"]`:       "v1.ConfigMap is not a list",
		".plain.metadata.name.x": `string has no field "x"`,
		`.plain.metadata.ownerReferences[no="x"]`: `v1.OwnerReference has no field "no"`,
	} {
		err := HasPath(fieldowners.MustParsePath(path), types[1:])
		if says == "" && err != nil || says != "" && (err == nil || err.Error() != says) {
			t.Errorf("%s: %v, want %s", path, err, says)
		}
		if err := HasPath(fieldowners.MustParsePath(path), types); err != nil {
			t.Errorf("%s, in one of two: %v", path, err)
		}
	}
}

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
