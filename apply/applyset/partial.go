package applyset

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"coapply.dev/apply/lanes"
	"coapply.dev/fieldowners"
)

// partialsAnnotation is the annotation of a parent that names the objects of its partial intents: a JSON list of
// Kind.group/namespace/name, followed by /subresource if there is one. It is necessary because the annotations of
// KEP-3659 name only members of the set, and these objects are not members.
const partialsAnnotation = "coapply.dev/partial-intents"

var partialsPath = fieldowners.MustParsePath(fmt.Sprintf(".metadata.annotations[%q]", partialsAnnotation))

// partials is a set of partial intents (intents with MustExist or a Subresource), each identified by its object and
// subresource.
type partials = sets.Set[intentKey]

func (k intentKey) String() string {
	parts := []string{k.GroupKind.String(), k.Namespace, k.Name}
	if k.subresource != "" {
		parts = append(parts, k.subresource)
	}
	return strings.Join(parts, "/") // no part contains a slash
}

func parseIntentKey(text string) (intentKey, bool) {
	parts := strings.Split(text, "/")
	if len(parts) == 3 {
		parts = append(parts, "")
	}
	if len(parts) != 4 || parts[0] == "" || parts[2] == "" {
		return intentKey{}, false
	}
	name := types.NamespacedName{Namespace: parts[1], Name: parts[2]}
	return intentKey{lanes.Key{GroupKind: schema.ParseGroupKind(parts[0]), NamespacedName: name}, parts[3]}, true
}

func sortedPartials(p partials) []intentKey {
	return slices.SortedFunc(maps.Keys(p), func(a, b intentKey) int { return strings.Compare(a.String(), b.String()) })
}

// withPartials returns a copy of the record that names the given partial intents. If there are none, the annotation of
// the copy is an empty list, or absent if the former record (before) has no annotation either.
func (r record) withPartials(p partials, before record) record {
	names := []string{}
	for _, key := range sortedPartials(p) {
		names = append(names, key.String())
	}
	if r.partials = ""; len(p) > 0 || before.partials != "" {
		raw, _ := json.Marshal(names) // a list of strings can be encoded
		r.partials = string(raw)
	}
	return r
}

// recordedPartials returns the partial intents that the annotation of a live parent names. It ignores the annotation
// unless our field manager owns it: otherwise anybody who can write to a parent could make this process release its
// fields in any object.
func (s *Sets) recordedPartials(parent *metav1.PartialObjectMetadata) partials {
	ownership, _ := fieldowners.ParseReadable(parent.ManagedFields)
	if !owns(s.parents, partialsPath, ownership) {
		return partials{}
	}
	var names []string
	if err := json.Unmarshal([]byte(parent.Annotations[partialsAnnotation]), &names); err != nil {
		return partials{}
	}
	recorded := partials{}
	for _, name := range names {
		if key, ok := parseIntentKey(name); ok {
			recorded.Insert(key)
		}
	}
	return recorded
}
