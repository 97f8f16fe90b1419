package view_test

import (
	"fmt"
	"strings"
	"testing"

	"coapply.dev/cmd/kubectl-fieldowners/internal/view"
)

func TestFind(t *testing.T) {
	o := view.New(parsed(t, `
apiVersion: v1
kind: Pod
metadata:
  name: a
  labels: {a.b/c: "1", a: "2"}
  finalizers: [x/y]
  managedFields:
  - {manager: m, operation: Apply, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {"f:metadata": {"f:finalizers": {"v:\"x/y\"": {}}},
     "f:spec": {"f:containers": {"k:{\"name\":\"web\"}": {"f:image": {}}}}}}
spec:
  containers: [{name: side, image: b}, {name: web, image: a, args: [x, y]}]
`))
	for _, test := range []struct{ reason, text, want string }{
		{"nothing is everything", "", "[]"},
		{"our notation", `.spec.containers[name="web"].image`, `[.spec.containers[name="web"].image]`},
		{"without the dot", `spec.containers[name="web"].image`, `[.spec.containers[name="web"].image]`},
		{"without the quotes, which the shell has taken", `.spec.containers[name=web].image`, `[.spec.containers[name="web"].image]`},
		{"by place", `.spec.containers[1].image`, `[.spec.containers[name="web"].image]`},
		{"by place, in an atomic list", `.spec.containers[1].args[1]`, `[.spec.containers[name="web"].args[1]]`},
		{"a member of a set", `.metadata.finalizers[="x/y"]`, `[.metadata.finalizers[="x/y"]]`},
		{"as the API server names it", `.metadata.labels.a.b/c`, `[.metadata.labels["a.b/c"]]`},
		{"not there", `.spec.nodeName`, `[.spec.nodeName]`},
		{"not there, by place", `.spec.containers[7]`, `[.spec.containers[7]]`},
		{"no path", `.spec.containers[`, "error"},
		{"no path of this object", `.metadata.labels.x/y`, "error"},
	} {
		found, err := o.Find(test.text)
		got := fmt.Sprint(found)
		if err != nil {
			got = "error"
			if !strings.Contains(err.Error(), "offset") {
				t.Errorf("%s: the error does not say where: %v", test.reason, err)
			}
		}
		if got != test.want {
			t.Errorf("%s: %q gave %s, want %s", test.reason, test.text, got, test.want)
		}
	}
}
