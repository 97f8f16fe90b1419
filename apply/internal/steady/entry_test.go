package steady

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// TestProveEntries: what entries of ours and of others have a proof fail, and what they leave it.
func TestProveEntries(t *testing.T) {
	apps := schemasOf(t, serverModels(t, "apis/apps/v1"))
	prove := func(config string, live ...string) *proofCase { return newProof(t, apps, config, live...) }
	unknown := prove(container("image: a"))
	unknown.schemas = gadgetSchemas(t)
	status := prove(container("image: a") + "status: {replicas: 1}").asks(func(r *Request) { r.Subresource = "status" })
	const proven, exactly, nobodyOwns = "", "exactly", "without an owner"
	toStrategy := strategy("{type: Recreate}")
	for name, c := range map[string]struct {
		*proofCase

		want string
	}{
		"of an unknown kind":              {unknown, "no corresponding type"},
		"what the schema does not have":   {prove(container("image: a"), container("image: a, extra: 1")), "not declared in schema"},
		"ours of updates, too":            {prove(container("image: a")).entries(ofUpdates), exactly},
		"ours without fields":             {prove(container("image: a")).entries(withoutFields(1)), "exactly one Apply entry"},
		"ours is broken":                  {prove(container("image: a")).entries(brokenBehind), "parsing key"},
		"ours of the status":              {status.entries(ofStatus), exactly},
		"another's without fields":        {prove(container(cpu1000m), container(cpu1)).entries(withoutFields(0)), proven},
		"emptied, and nobody knows":       {prove(strategy("{}"), toStrategy).sharedBy(`{"f:spec":{"f:strategy":{"f:type":{}}},"i:x":{}}`), nobodyOwns},
		"emptied by null":                 {prove(strategy("null"), toStrategy), nobodyOwns},
		"emptied of items":                {prove(web("{containers: null}"), container("image: a")), nobodyOwns},
		"emptied of items of others":      {prove(web("{containers: null}"), container("image: a")).sharedBy(fieldsOfContainer(`"f:name":{},"f:image":{}`)), proven},
		"emptied of nothing, null before": {prove(strategy("{}"), deploymentOf("spec: {}")), "the apply would change"},
	} {
		t.Run(name, func(t *testing.T) { c.wants(t, c.want) })
	}
}

func ofUpdates(all []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
	other := all[1]
	other.Operation = metav1.ManagedFieldsOperationUpdate
	return append(all, other)
}

func ofStatus(all []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
	all[1].Subresource = "status"
	return all
}

func withoutFields(at int) func([]metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
	return func(all []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
		all[at].FieldsV1 = nil
		return all
	}
}

// bare has a status that the schema does not have.
type bare struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Data   map[string]string `json:"data"`
	Items  []string          `json:"items"`
	Note   string            `json:"note,omitempty"`
	Status struct {
		Phase string `json:"phase,omitempty"`
	} `json:"status"`
}

func (b *bare) DeepCopyObject() runtime.Object { return b }

const bareModels = `
Bare:
  type: object
  x-kubernetes-group-version-kind: [{group: example.com, version: v1, kind: Bare}]
  properties:
    apiVersion: {type: string}
    kind: {type: string}
    metadata: {type: object, properties: {name: {type: string}, uid: {type: string}, resourceVersion: {type: string}}}
    data: {type: object, additionalProperties: {type: string}}
`

// TestAsStored: only what the schema does not have, and holds nothing, is left out, and only of
// what a Go type wrote.
func TestAsStored(t *testing.T) {
	const config = "apiVersion: example.com/v1\nkind: Bare\nmetadata: {name: web}\ndata: {}\n"
	prove := func(live ...string) *proofCase { return newProof(t, schemasIn(t, bareModels), config, live...) }
	prove().readAs(t, &bare{}).wants(t, "exactly")
	prove(config+"items: []\n").readAs(t, &bare{}).wants(t, "exactly")
	prove(config+"status: {phase: done}\n").readAs(t, &bare{}).wants(t, "not declared in schema")
	prove(config+"note: a\n").readAs(t, &bare{}).wants(t, "not declared in schema")
	prove(config+"status: {}\n").wants(t, "not declared in schema")
}
