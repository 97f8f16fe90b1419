package update

import (
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
)

func TestAlike(t *testing.T) {
	quantities := reflect.TypeFor[map[string][]resource.Quantity]()
	for _, test := range []struct {
		a, b string
		want bool
	}{
		{`{"x":["1k"]}`, `{"x":["1e3"]}`, true},
		{`{"x":["1k"]}`, `{"x":["2k"]}`, false},
		{`{"x":["1k"]}`, `{"x":["1e3","1"]}`, false},
		{`{"x":["no quantity"]}`, `{"x":["0"]}`, false},
		{`{"x":["0"]}`, `{"x":["no quantity"]}`, false},
		{`{"x":[0]}`, `{"x":["0"]}`, false},
		{`{"x":["0"]}`, `{"x":[0]}`, false},
		{`{}`, `{"x":null}`, false},
		{`{"x":null}`, `{"y":null}`, false},
		{`{}`, `"x"`, false},
		{`{"x":[]}`, `{"x":"y"}`, false},
	} {
		if got := alike(parsed(t, test.a), parsed(t, test.b), quantities); got != test.want {
			t.Errorf("%s and %s: %v", test.a, test.b, got)
		}
	}
}
