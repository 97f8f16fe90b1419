package applyset_test

import (
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"coapply.dev/apply/applyset"
)

var configMaps = schema.GroupResource{Resource: "configmaps"}

// member is a ConfigMap as it is listed.
func member(name string, change ...func(*metav1.PartialObjectMetadata)) metav1.PartialObjectMetadata {
	object := named("ConfigMap", name)
	object.Labels = map[string]string{applyset.PartOfLabel: setID}
	object.ManagedFields = []metav1.ManagedFieldsEntry{labelEntry(manager)}
	for _, c := range change {
		c(object)
	}
	return *object
}

func terminating(o *metav1.PartialObjectMetadata) { o.DeletionTimestamp = new(metav1.Now()) }

func withVersion(version string) func(*metav1.PartialObjectMetadata) {
	return func(o *metav1.PartialObjectMetadata) { o.ResourceVersion = version }
}

func withOwner(kind string, uid types.UID) func(*metav1.PartialObjectMetadata) {
	return func(o *metav1.PartialObjectMetadata) {
		o.OwnerReferences = append(o.OwnerReferences, metav1.OwnerReference{APIVersion: "v1", Kind: kind, Name: "p", UID: uid})
	}
}

func labelEntry(owner string) metav1.ManagedFieldsEntry {
	return entry(owner, "Apply", "", `{"f:metadata":{"f:labels":{"f:`+applyset.PartOfLabel+`":{}}}}`)
}

// page is an answer to a list; more says that it is not the last one.
func page(more string, members ...metav1.PartialObjectMetadata) answer {
	return ok(&metav1.PartialObjectMetadataList{
		TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadataList"},
		ListMeta: metav1.ListMeta{Continue: more}, Items: members,
	})
}

const (
	reads = "GET configmaps/web"
	lists = "GET configmaps?labelSelector=members&limit=500"
)

func deletes(name string) string {
	return deletesAt(name, "1")
}

func deletesAt(name, version string) string {
	return "DELETE configmaps/" + name + " uid=uid-" + name + " resourceVersion=" + version + " Background"
}

// deleted is what a delete is answered with.
func deleted(status int) answer {
	return give(status, metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusSuccess})
}

// standing begins a round of a set that may hold more than the a which it emits:
// everything up to the list.
func standing(s *setScript, sets *applyset.Sets) *applyset.Round {
	s.Helper()
	s.expect(append([]step{{reads, ok(setParent("ConfigMap"))}}, joins("ConfigMap", "a")...)...)
	round := sets.Apply(s.Context(), setParent("ConfigMap"), emitsConfigMap("a"))
	if err := errors.Join(round.Errs...); err != nil {
		s.Fatal(err)
	}
	return round
}
