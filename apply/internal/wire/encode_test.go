package wire

import (
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestHoldsNothing(t *testing.T) {
	type holder struct{ *unstructured.Unstructured }
	for reason, test := range map[string]struct {
		value any
		want  bool
	}{
		"nothing":                     {holder{}, true},
		"something":                   {holder{&unstructured.Unstructured{}}, false},
		"a map":                       {map[string]any{}, false},
		"without the field":           {struct{}{}, false},
		"with another field so named": {struct{ Unstructured bool }{}, false},
	} {
		if got := HoldsNothing(reflect.ValueOf(test.value)); got != test.want {
			t.Errorf("%s: %v", reason, got)
		}
	}
}

func TestEncodeNothing(t *testing.T) {
	if body, err := Encode(nil); err == nil {
		t.Errorf("%s", body.JSON)
	}
}
