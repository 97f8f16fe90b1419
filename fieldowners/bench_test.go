package fieldowners_test

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/fieldowners"
)

// deploymentFields is what an applier of a small Deployment owns: 18 fields, list
// items, a quoted key and a finalizer among them.
const deploymentFields = `{"f:metadata":{"f:labels":{"f:app.kubernetes.io/name":{},"f:app.kubernetes.io/managed-by":{}},` +
	`"f:ownerReferences":{"k:{\"uid\":\"0b1c6c39-7a4b-4b64-a6ae-3c1ab7e3c5b1\"}":{}}},` +
	`"f:spec":{"f:selector":{},"f:strategy":{"f:type":{}},"f:template":{"f:metadata":{"f:finalizers":{"v:\"example.com/record\"":{}},` +
	`"f:labels":{"f:app.kubernetes.io/name":{}}},"f:spec":{"f:automountServiceAccountToken":{},` +
	`"f:containers":{"k:{\"name\":\"web\"}":{".":{},"f:image":{},"f:name":{},"f:ports":{` +
	`"k:{\"containerPort\":80,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{},"f:protocol":{}}},` +
	`"f:resources":{"f:limits":{"f:cpu":{},"f:memory":{}},"f:requests":{"f:cpu":{},"f:memory":{}}}}}}}}}`

func managers(n int) []metav1.ManagedFieldsEntry {
	entries := make([]metav1.ManagedFieldsEntry, 0, n)
	for i := range n {
		entries = append(entries, entry(fmt.Sprintf("manager-%d", i), metav1.ManagedFieldsOperationApply, deploymentFields))
	}
	return entries
}

// BenchmarkParse shows that the cost grows with the managers of an object, even of
// fields that were parsed before.
func BenchmarkParse(b *testing.B) {
	for _, n := range []int{1, 3, 10, 40} {
		entries := managers(n)
		b.Run(fmt.Sprintf("managers=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := fieldowners.Parse(entries); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkFields(b *testing.B) {
	ownership, err := fieldowners.Parse(managers(1))
	if err != nil {
		b.Fatal(err)
	}
	owner := ownership.Entries()[0]
	if n := len(owner.Fields()); n != 18 {
		b.Fatalf("%d fields, so deploymentFields and its comment differ", n)
	}
	b.ReportAllocs()
	for b.Loop() {
		owner.Fields()
	}
}

func BenchmarkOwnersOf(b *testing.B) {
	ownership, err := fieldowners.Parse(managers(10))
	if err != nil {
		b.Fatal(err)
	}
	image := fieldowners.MustParsePath(`.spec.template.spec.containers[name="web"].image`)
	b.ReportAllocs()
	for b.Loop() {
		if owners := ownership.OwnersOf(image); len(owners) != 10 {
			b.Fatal(owners)
		}
	}
}

func BenchmarkParsePath(b *testing.B) {
	for _, text := range []string{
		`.spec.strategy.rollingUpdate.maxSurge`,
		`.spec.template.spec.containers[name="web"].ports[containerPort=80,protocol="TCP"]`,
		`.metadata.annotations["app.kubernetes.io/name"]`,
	} {
		b.Run(text, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := fieldowners.ParsePath(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkPathString(b *testing.B) {
	path := fieldowners.MustParsePath(`.spec.template.spec.containers[name="web"].ports[containerPort=80,protocol="TCP"]`)
	b.ReportAllocs()
	for b.Loop() {
		_ = path.String()
	}
}
