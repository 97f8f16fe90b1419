package predict_test

import (
	"fmt"
	"strings"
	"testing"

	"coapply.dev/fieldowners"
	"coapply.dev/fieldowners/predict"
)

const lastApplied = `metadata: {annotations: {kubectl.kubernetes.io/last-applied-configuration: "{}"}}, `

// TestPlain holds that what special cases are about is told as all else where they are not met.
func TestPlain(t *testing.T) {
	const scaled = "conflicts:\n  .spec.replicas to 5, owned by other/Update with 3\n"
	const owner = `other/Update {"f:spec":{"f:replicas":{}}}`
	const data, dataOwner = "conflicts:\n  .data.a to \"z\", owned by other/Update with \"x\"\n", `other/Update {"f:data":{"f:a":{}}}`
	for _, test := range []predicted{
		{reason: "what another manager than kubectl applies", live: `{` + lastApplied + `spec: {replicas: 3}}`, owners: owner, intent: `{spec: {replicas: 5}}`, want: scaled},
		{reason: "what kubectl applies, and client-side apply did not write", manager: "kubectl", live: `{spec: {replicas: 3}}`, owners: owner, intent: `{spec: {replicas: 5}}`, want: scaled},
		{reason: "data of a ConfigMap", kind: "v1 ConfigMap", live: `{data: {a: x}}`, owners: dataOwner, intent: `{data: {a: z}}`, want: data},
		{reason: "a Secret of another group", kind: "example.com/v1 Secret", live: `{data: {a: x}}`, owners: dataOwner, intent: `{data: {a: z}}`, want: data},
		{reason: "stringData of a ConfigMap", kind: "v1 ConfigMap", live: `{data: {a: x}}`, owners: dataOwner, intent: `{stringData: {a: z}}`, want: "changes:\n  .stringData.a: added \"z\"\n"},
	} {
		got, err := test.predict(t)
		if err != nil || got.String() != test.want {
			t.Errorf("%s: %v, %v\nwant %s", test.reason, got, err, test.want)
		}
	}
}

// TestNoDefaultToLearn: what an applier leaves to the server is told only by fields that it owns together with their item.
func TestNoDefaultToLearn(t *testing.T) {
	for reason, entry := range map[string]string{
		"an updater may set what others had before":       `other/Update {"f:spec":{"f:ports":{%s:{".":{},"f:port":{}}}}}`,
		"an applier of a field in another manager's item": `other/Apply {"f:spec":{"f:ports":{%s:{"f:port":{}}}}}`,
		"an item of an updater that became an applier":    `other/Apply {"f:spec":{"f:ports":{%s:{".":{},"f:name":{}}}}}`,
	} {
		test := predicted{kind: "example.com/v1 Thing", live: `{spec: {ports: [{port: 80, protocol: TCP}]}}`,
			owners: fmt.Sprintf(entry, `"k:{\"port\":80,\"protocol\":\"TCP\"}"`), intent: `{spec: {ports: [{port: 80, name: x}]}}`,
			want: "unsure:\n  .spec.ports: items leave out or repeat what names them (port, protocol), and managed fields do not tell the server's defaults\n"}
		if got, err := test.predict(t); err != nil || got.String() != test.want {
			t.Errorf("%s: %v, %v", reason, got, err)
		}
	}
}

// TestConflictsInOrder: of fields, then of owners, whatever order the API server's own rules find them in.
func TestConflictsInOrder(t *testing.T) {
	const fields = ` {"f:spec":{"f:a":{},"f:b":{}}}` + "\n"
	test := predicted{live: `{spec: {a: 1, b: 1}}`, intent: `{spec: {a: 2, b: 2}}`, want: "conflicts:\n"}
	for _, field := range []string{"a", "b"} {
		for i := range 9 {
			owner := fmt.Sprintf("m%d/Update", i)
			test.want += fmt.Sprintf("  .spec.%s to 2, owned by %s with 1\n", field, owner)
			if field == "a" {
				test.owners = owner + fields + test.owners
			}
		}
	}
	if got, err := test.predict(t); err != nil || got.String() != test.want {
		t.Errorf("%v, %v", got, err)
	}
}

// TestNullMetadata: an intent may have null there, as YAML without content has it.
func TestNullMetadata(t *testing.T) {
	p, err := predict.Apply(nil, map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": nil}, "us", "")
	if err != nil || !p.Creates {
		t.Errorf("%v, %v", p, err)
	}
}

func TestDescribes(t *testing.T) {
	a := fieldowners.MustParsePath(".spec.a")
	for want, dropped := range map[string]predict.Dropped{
		".spec.a is owned by nobody then":    {Path: a, Value: "x"},
		`.spec.a goes with its value "x"`:    {Path: a, Value: "x", Removed: true},
		".spec.a stays, owned by hpa/Update": {Path: a, KeptBy: []fieldowners.Manager{{Name: "hpa", Operation: "Update"}}},
	} {
		if got := dropped.String(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	p := predict.Prediction{Changes: []fieldowners.Change{{Path: a}}, Dropped: []predict.Dropped{{Path: a}}}
	if p.IsEmpty() || !strings.Contains(p.String(), "dropped:") {
		t.Errorf("%v is empty", p)
	}
}
