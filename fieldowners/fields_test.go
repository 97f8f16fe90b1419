package fieldowners_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"coapply.dev/fieldowners"
)

// joined prints what Join gives: a line for each field, then who owns it.
func joined(t *testing.T, object string, entries ...metav1.ManagedFieldsEntry) string {
	t.Helper()
	var content map[string]any
	if err := yaml.Unmarshal([]byte(object), &content); err != nil {
		t.Fatal(err)
	}
	ownership, err := fieldowners.Parse(entries)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for field := range ownership.Join(content).All() {
		if field.Path.IsRoot() {
			continue
		}
		line := fmt.Sprintf("%v %v", field.Path, field.Owners)
		if len(field.Whole) > 0 {
			line += fmt.Sprintf(" whole%v", field.Whole)
		}
		for what, is := range map[string]bool{" shared": field.IsShared(), " unowned": field.IsUnowned(), " server": field.Server, " missing": !field.Exists} {
			if is {
				line += what
			}
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func TestJoin(t *testing.T) {
	scaled := entry("hpa", "Update", `{"f:spec":{"f:replicas":{}}}`)
	scaled.Subresource = "scale"
	v1 := entry("old", "Apply", `{"f:spec":{"f:scaleTargetRef":{}}}`)
	v1.APIVersion = "autoscaling/v1"
	v2 := entry("new", "Apply", `{"f:spec":{"f:scaleTargetRef":{"f:name":{}}}}`)
	v2.APIVersion = "autoscaling/v2"
	for name, test := range map[string]struct {
		reason, object string
		entries        []metav1.ManagedFieldsEntry
		want           string
	}{
		"scalars": {
			reason:  "each owner of a field, nobody's field, and what the server keeps",
			object:  `{apiVersion: apps/v1, metadata: {name: web, uid: x, managedFields: [{manager: m}]}, spec: {replicas: 3, paused: true, minReadySeconds: 4}}`,
			entries: []metav1.ManagedFieldsEntry{entry("a", "Apply", `{"f:spec":{"f:replicas":{},"f:paused":{}}}`), scaled},
			want: `.apiVersion [] server
.metadata []
.metadata.name [] server
.metadata.uid [] server
.spec []
.spec.minReadySeconds [] unowned
.spec.paused [a/Apply]
.spec.replicas [a/Apply hpa/Update[scale]] shared`,
		},
		"whole": {
			reason:  "what is below an atomic map belongs to its owner",
			object:  `{spec: {selector: {matchLabels: {a: b}}, args: [x, y], empty: {}}}`,
			entries: []metav1.ManagedFieldsEntry{entry("a", "Apply", `{"f:spec":{"f:selector":{},"f:args":{}}}`)},
			want: `.spec []
.spec.args [a/Apply]
.spec.args[0] [] whole[a/Apply]
.spec.args[1] [] whole[a/Apply]
.spec.empty [] unowned
.spec.selector [a/Apply]
.spec.selector.matchLabels [] whole[a/Apply]
.spec.selector.matchLabels.a [] whole[a/Apply]`,
		},
		"existence": {
			reason: "who owns a map's existence does not own what others put in it, and nobody's entry stays nobody's",
			object: `{metadata: {labels: {a: b, c: d, e: f}}}`,
			entries: []metav1.ManagedFieldsEntry{
				entry("a", "Update", `{"f:metadata":{"f:labels":{".":{},"f:a":{}}}}`), entry("b", "Apply", `{"f:metadata":{"f:labels":{"f:c":{}}}}`),
				entry("c", "Apply", `{"f:metadata":{"f:labels":{}}}`),
			},
			want: `.metadata []
.metadata.labels [a/Update c/Apply] shared
.metadata.labels.a [a/Update]
.metadata.labels.c [b/Apply]
.metadata.labels.e [] unowned`,
		},
		"items": {
			reason: "items by key, by value, and one whose key the object leaves out",
			object: `{metadata: {finalizers: [x/y, z/z]}, spec: {ports: [{port: 80, name: web}, {port: 81, protocol: UDP}]}}`,
			entries: []metav1.ManagedFieldsEntry{entry("a", "Apply", `{"f:metadata":{"f:finalizers":{"v:\"x/y\"":{}}},`+
				`"f:spec":{"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:name":{}}}}}`)},
			want: `.metadata []
.metadata.finalizers []
.metadata.finalizers[="x/y"] [a/Apply]
.metadata.finalizers[="z/z"] [] unowned
.spec []
.spec.ports []
.spec.ports[port=80,protocol="TCP"] [a/Apply]
.spec.ports[port=80,protocol="TCP"].name [a/Apply]
.spec.ports[port=80,protocol="TCP"].port [] whole[a/Apply]
.spec.ports[1] []
.spec.ports[1].port [] unowned
.spec.ports[1].protocol [] unowned`,
		},
		"items without names": {
			reason: "where one item has no name, the others are found by theirs, and those that leave out what the server defaults",
			object: `{free: [1, 2], l: [{odd: 1}, {name: a}, {name: b, v: 1}, {name: a}, {odd: 2}], ports: [{port: 81, protocol: UDP}, {port: 80}, {port: 81, protocol: UDP}]}`,
			entries: []metav1.ManagedFieldsEntry{
				entry("a", "Apply", `{"f:l":{"k:{\"name\":\"a\"}":{".":{}},"k:{\"name\":\"b\"}":{".":{},"f:v":{}},"k:{\"name\":\"gone\"}":{}},`+
					`"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{}},"k:{\"port\":80,\"protocol\":\"UDP\"}":{},"k:{\"port\":81,\"protocol\":\"UDP\"}":{".":{}}}}`),
				entry("b", "Apply", `{"f:l":{"i:1":{},"i:2":{},"i:4":{},"k:{\"name\":\"b\"}":{"f:name":{}}}}`),
			},
			want: `.free []
.free[0] [] unowned
.free[1] [] unowned
.l []
.l[0] []
.l[0].odd [] unowned
.l[name="a"] [a/Apply]
.l[name="a"].name [] whole[a/Apply]
.l[name="b"] [a/Apply]
.l[name="b"].name [b/Apply]
.l[name="b"].v [a/Apply]
.l[3] []
.l[3].name [] unowned
.l[4] [b/Apply]
.l[4].odd [] whole[b/Apply]
.l[name="gone"] [a/Apply] missing
.l[1] [b/Apply] missing
.l[2] [b/Apply] missing
.ports []
.ports[port=81,protocol="UDP"] [a/Apply]
.ports[port=81,protocol="UDP"].port [] whole[a/Apply]
.ports[port=81,protocol="UDP"].protocol [] whole[a/Apply]
.ports[port=80,protocol="TCP"] [a/Apply]
.ports[port=80,protocol="TCP"].port [] whole[a/Apply]
.ports[2] []
.ports[2].port [] unowned
.ports[2].protocol [] unowned
.ports[port=80,protocol="UDP"] [a/Apply] missing`,
		},
		"missing": {
			reason:  "what is owned and not there is told of, below what is there",
			object:  `{spec: {}}`,
			entries: []metav1.ManagedFieldsEntry{entry("a", "Apply", `{"f:spec":{"f:gone":{"f:x":{}},"f:list":{"k:{\"n\":1}":{}}}}`)},
			want: `.spec []
.spec.gone [] missing
.spec.gone.x [a/Apply] missing
.spec.list [] missing
.spec.list[n=1] [a/Apply] missing`,
		},
		"versions": {
			reason:  "a map that is atomic in one version and granular in another",
			object:  `{spec: {scaleTargetRef: {kind: Deployment, name: web}}}`,
			entries: []metav1.ManagedFieldsEntry{v1, v2},
			want: `.spec []
.spec.scaleTargetRef [old/Apply]
.spec.scaleTargetRef.kind [] whole[old/Apply]
.spec.scaleTargetRef.name [new/Apply] whole[old/Apply] shared`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, joined(t, test.object, test.entries...)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}
