package faults

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"coapply.dev/fieldowners"
	"coapply.dev/platform/controllers/fieldmanagers"
	"coapply.dev/platform/controllers/user"
	"coapply.dev/test/kit"
)

// The kinds that an end state consists of.
var (
	namespacedKinds = []schema.GroupVersionKind{
		{Group: "platform.coapply.dev", Version: "v1alpha1", Kind: "Devbox"},
		{Group: "platform.coapply.dev", Version: "v1alpha1", Kind: "NodeSet"},
		{Group: "platform.coapply.dev", Version: "v1alpha1", Kind: "SlurmController"},
		{Group: "apps", Version: "v1", Kind: "Deployment"},
		{Group: "apps", Version: "v1", Kind: "StatefulSet"},
		{Version: "v1", Kind: "Pod"},
		{Version: "v1", Kind: "Service"},
		{Version: "v1", Kind: "ServiceAccount"},
		{Version: "v1", Kind: "ResourceQuota"},
		{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "RoleBinding"},
	}
	clusterKinds = []schema.GroupVersionKind{
		{Group: "platform.coapply.dev", Version: "v1alpha1", Kind: "User"},
		{Group: "platform.coapply.dev", Version: "v1alpha1", Kind: "License"},
		{Group: "platform.coapply.dev", Version: "v1alpha1", Kind: "NodeMaintenance"},
		{Version: "v1", Kind: "Node"},
	}
)

// state returns all objects of a run as text, with fields and owners, without what differs from run to run.
func (w *world) state() (string, error) {
	var objects []*unstructured.Unstructured
	namespace := w.Namespace
	if namespace == "" {
		namespace = user.NamespaceOf(w.name)
		for _, kind := range append(clusterKinds, schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}) {
			object := &unstructured.Unstructured{}
			object.SetGroupVersionKind(kind)
			name := w.name
			if kind.Kind == "Namespace" {
				name = namespace
			}
			if err := w.Client.Get(w.t.Context(), client.ObjectKey{Name: name}, object); client.IgnoreNotFound(err) != nil {
				return "", err
			} else if err == nil {
				objects = append(objects, object)
			}
		}
	}
	for _, kind := range namespacedKinds {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind)
		if err := w.Client.List(w.t.Context(), list, client.InNamespace(namespace)); err != nil {
			return "", err
		}
		for i := range list.Items {
			objects = append(objects, &list.Items[i])
		}
	}
	return w.text(objects), nil
}

// ofTheTest is the name of objects that the test makes for itself.
const ofTheTest = "of-the-test"

func (w *world) text(objects []*unstructured.Unstructured) string {
	names := map[string]string{}
	for _, object := range objects {
		names[string(object.GetUID())] = "uid of " + object.GetKind()
	}
	var all []string
	for _, object := range objects {
		if object.GetKind() == "ServiceAccount" && object.GetName() == "default" || object.GetName() == ofTheTest {
			continue
		}
		text, err := yaml.Marshal(w.normal(object))
		if err != nil {
			w.t.Fatal(err)
		}
		all = append(all, w.withoutNames(string(text), names))
	}
	slices.Sort(all)
	return strings.Join(all, "---\n")
}

var (
	uids     = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	contents = regexp.MustCompile(`\bc-[0-9a-f]{8}-[0-9a-f]{8}`) // of a Devbox's uid, and of a container's
	hashes   = regexp.MustCompile(`x-[0-9a-f]{6,10}(-[a-z0-9]{5})?\b`)
)

func (w *world) withoutNames(text string, names map[string]string) string {
	for uid, name := range names {
		text = strings.ReplaceAll(text, uid, name)
	}
	text = contents.ReplaceAllStringFunc(strings.ReplaceAll(text, w.name, "RUN"), func(content string) string {
		if strings.HasSuffix(content, "-00000000") {
			return "c-UID-NOTHING"
		}
		return "c-UID-COMMITTED"
	})
	return hashes.ReplaceAllString(uids.ReplaceAllString(text, "UID"), "x-HASH")
}

// normal returns what we and people wrote of an object, and who owns it.
func (w *world) normal(object *unstructured.Unstructured) map[string]any {
	kept := map[string]any{"kind": object.GetKind(), "name": object.GetName(), "labels": object.GetLabels(), "finalizers": slices.Sorted(slices.Values(object.GetFinalizers()))}
	for key, value := range object.GetAnnotations() {
		if strings.Contains(key, "coapply.dev") {
			kept["annotation "+key] = value
		}
	}
	var owners []string
	for _, owner := range object.GetOwnerReferences() {
		owners = append(owners, fmt.Sprint(owner.Kind, " ", owner.Name, " ", owner.UID, " ", owner.Controller != nil && *owner.Controller))
	}
	kept["owners"] = owners
	if object.GetDeletionTimestamp() != nil {
		kept["deleted"] = true
	}
	if labels := object.GetLabels(); labels != nil {
		delete(labels, "pod-template-hash")
		kept["labels"] = labels
	}
	for _, part := range []string{"spec", "data", "subjects", "roleRef", "automountServiceAccountToken"} {
		if value, ok := object.Object[part]; ok {
			kept[part] = withoutTimes(value)
		}
	}
	if ours(object) {
		kept["status"] = withoutTimes(object.Object["status"])
	}
	if object.GetKind() == "Pod" { // the scheduler's and admission's, other ones each time
		kept["spec"] = podSpec(object)
	}
	kept["fields"] = w.fieldsOf(object)
	return kept
}

func ours(object *unstructured.Unstructured) bool {
	return object.GroupVersionKind().Group == "platform.coapply.dev"
}

func podSpec(pod *unstructured.Unstructured) any {
	containers, _, _ := unstructured.NestedSlice(pod.Object, "spec", "containers")
	var images []any
	for _, container := range containers {
		images = append(images, container.(map[string]any)["image"])
	}
	return images
}

// fieldsOf lists who owns what, without the controllers of Kubernetes.
func (w *world) fieldsOf(object *unstructured.Unstructured) []string {
	entries := object.GetManagedFields()
	entries = slices.DeleteFunc(slices.Clone(entries), func(e metav1.ManagedFieldsEntry) bool {
		return !slices.Contains(fieldmanagers.All().Managers(), e.Manager) && e.Manager != "person" &&
			(w.wiped || e.Manager != fieldowners.BeforeFirstApply)
	})
	return slices.DeleteFunc(kit.FieldsBy(w.t, entries), func(line string) bool {
		// The list of conditions itself is whose condition came first; a container that is killed has ended, or not yet.
		return strings.Contains(line, "."+attempts+" ") || strings.HasPrefix(line, ".status.conditions ") ||
			strings.HasPrefix(line, ".status.lastContainerStatus.")
	})
}

// Fields whose values differ from run to run.
var variable = []string{
	"lastTransitionTime", "startTime", "startedAt", "finishedAt", "completionTime", "createTime", "timeAdded", "containerID", "lastContainerStatus",
	"clusterIP", "clusterIPs", "nodePort", "resourceVersion", "uid", "podCIDR", "podCIDRs",
}

// attempts of a NodeMaintenance are those that were recorded: none where the manager was killed before it did.
const attempts = "attempts"

func withoutTimes(value any) any {
	switch value := value.(type) {
	case map[string]any:
		kept := map[string]any{}
		for key, v := range value {
			switch {
			case key == attempts:
			case slices.Contains(variable, key):
				kept[key] = "VARIES"
			default:
				kept[key] = withoutTimes(v)
			}
		}
		return kept
	case []any:
		kept := make([]any, len(value))
		for i := range value {
			kept[i] = withoutTimes(value[i])
		}
		slices.SortStableFunc(kept, func(a, b any) int { return cmp.Compare(typeOf(a), typeOf(b)) })
		return kept
	}
	return value
}

// typeOf returns the type of a condition. Conditions are in the order in which they were first written.
func typeOf(item any) string {
	fields, _ := item.(map[string]any)
	name, _ := fields["type"].(string)
	return name
}
