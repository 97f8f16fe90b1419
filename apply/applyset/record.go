package applyset

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"maps"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/fieldowners"
)

// Labels and annotations that KEP-3659 defines for the members of an ApplySet and for its parent.
const (
	// PartOfLabel is a label of each member. Its value is the id of the parent's set, see ID.
	PartOfLabel = "applyset.kubernetes.io/part-of"

	idLabel              = "applyset.kubernetes.io/id"
	toolingAnnotation    = "applyset.kubernetes.io/tooling"
	kindsAnnotation      = "applyset.kubernetes.io/contains-group-kinds"
	namespacesAnnotation = "applyset.kubernetes.io/additional-namespaces"
)

// ID returns the id of a parent's set. As KEP-3659 specifies, it is a hash of the parent's name, namespace, kind and group, so
// each parent has exactly one set.
func ID(parent apply.ObjectRef) string {
	hash := sha256.Sum256([]byte(strings.Join([]string{parent.Name, parent.Namespace, parent.Kind, parent.Group}, ".")))
	return "applyset-" + base64.RawURLEncoding.EncodeToString(hash[:]) + "-v1"
}

// Has reports whether an object is a member of the parent's set: it has the set's label, and the applier's field
// manager owns the label. The label alone is not enough, because anybody can copy a label. If the applier's client does
// not know the parent's kind, Has returns false.
func (s *Sets) Has(parent, object client.Object) bool {
	kind, err := s.parents.Client().GroupVersionKindFor(parent)
	id := ID(apply.ObjectRef{GroupVersionKind: kind, NamespacedName: client.ObjectKeyFromObject(parent)})
	if err != nil || object.GetLabels()[PartOfLabel] != id {
		return false
	}
	ownership, _ := fieldowners.ParseReadable(object.GetManagedFields())
	return owns(s.members, partOfPath, ownership)
}

// record contains the label and annotations of a parent that describe its set. It is zero if the parent has no set.
type record struct{ id, tooling, kinds, namespaces, partials string }

func recordOf(parent metav1.Object) record {
	annotations := parent.GetAnnotations()
	return record{
		id:         parent.GetLabels()[idLabel],
		tooling:    annotations[toolingAnnotation],
		kinds:      annotations[kindsAnnotation],
		namespaces: annotations[namespacesAnnotation],
		partials:   annotations[partialsAnnotation],
	}
}

// checkOwner returns an error if the record in the parent belongs to another tool, field manager or parent.
func (r *Round) checkOwner(found record) (err error) {
	const remedy = "nothing was written; if the other set is no longer used, remove its label and annotations (applyset.kubernetes.io/…) from the parent"
	switch {
	case found.id != "" && found.id != r.own.id:
		err = fmt.Errorf("the parent's label %s has the value %q, which is the id of another object's set; the id of this parent's set is %q: %s", idLabel, found.id, r.own.id, remedy)
	case found.tooling != "" && found.tooling != r.own.tooling:
		err = fmt.Errorf("the parent's ApplySet belongs to the tooling %q, and not to this process, whose tooling is %q: %s", found.tooling, r.own.tooling, remedy)
	default:
		return nil
	}
	return &apply.RefusedError{Object: r.parent, Err: err}
}

// annotations returns the annotations of a parent with this record. If there are no members, the list of kinds is
// empty. If there are no namespaces, their annotation is omitted: KEP-3659 reserves its empty value for future use.
func (r record) annotations() map[string]string {
	annotations := map[string]string{toolingAnnotation: r.tooling, namespacesAnnotation: r.namespaces, partialsAnnotation: r.partials}
	maps.DeleteFunc(annotations, func(_, value string) bool { return value == "" })
	annotations[kindsAnnotation] = r.kinds
	return annotations
}

func (r record) scope() scope {
	set := func(list string) sets.Set[string] { return sets.New(strings.Split(list, ",")...).Delete("") }
	return scope{kinds: set(r.kinds), namespaces: set(r.namespaces)}
}

// with returns a copy of the record with the kinds and namespaces of the given scope.
func (r record) with(s scope) record {
	r.kinds, r.namespaces = strings.Join(sets.List(s.kinds), ","), strings.Join(sets.List(s.namespaces), ",")
	return r
}

// scope describes where the members of a set may be. Each member has one of the kinds, such as Deployment.apps. It is
// in one of the namespaces or in the parent's namespace, or it is cluster-scoped.
type scope struct{ kinds, namespaces sets.Set[string] }

func newScope() scope { return scope{sets.New[string](), sets.New[string]()} }

// add adds the kind of an object. It also adds the object's namespace, unless that is the namespace of the parent.
func (s scope) add(object, parent apply.ObjectRef) {
	s.kinds.Insert(object.GroupKind().String())
	if object.Namespace != "" && object.Namespace != parent.Namespace {
		s.namespaces.Insert(object.Namespace)
	}
}

func (s scope) union(other scope) scope {
	return scope{s.kinds.Union(other.kinds), s.namespaces.Union(other.namespaces)}
}
