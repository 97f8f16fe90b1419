package check

import (
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/managedfields"

	"coapply.dev/cmd/kubectl-fieldowners/internal/schemas"
	"coapply.dev/fieldowners"
)

// lookUp holds the intent against what is known of its kind. The API server refuses
// what its own schema does not have. The schema of the Kubernetes that the plugin was
// built with says what is certain, and so does the live object where there is no schema;
// anything else is in doubt.
func (c *command) lookUp(item *result, intent, live map[string]any) {
	object := &unstructured.Unstructured{Object: intent}
	kind := object.GroupVersionKind()
	if converter := c.schemas.Of(kind.GroupVersion()); converter != nil {
		if wrong, known := wrongFields(converter, object); known {
			for _, w := range wrong {
				item.refuse(w.path, w.reason)
			}
			return
		}
	}
	if builtIn := schemas.BuiltIn(kind); builtIn != nil {
		wrong, _ := wrongFields(builtIn, object)
		for _, w := range wrong {
			item.doubt(w.path, w.reason+" in the Kubernetes of this plugin, and the API server's schema is not at hand")
		}
		return
	}
	for _, path := range newFields(item.lines.root, live) {
		item.doubt(path, "the live object does not have it, and no schema is at hand to look it up")
	}
}

// wrongField is a field that a schema does not allow.
type wrongField struct {
	path    fieldowners.Path
	reason  string
	unknown bool // the schema does not have it at all
}

// wrongLine is a line of structured-merge-diff's typed.ValidationErrors.
var wrongLine = regexp.MustCompile(`^\s*(\S.*?): (field not declared in schema|duplicate entries for key|expected [a-z]+)`)

// maxWrong is about how many wrong fields of an object are listed, as the whole object is
// validated again for each.
const maxWrong = 50

// wrongFields returns what is wrong with an object, in the order of paths; known reports
// whether the schema has its kind. The schema names only one of several unknown fields of a
// map, so that one is removed and the rest is validated again.
func wrongFields(converter managedfields.TypeConverter, object *unstructured.Unstructured) (wrong []wrongField, known bool) {
	rest := object.DeepCopy()
	for len(wrong) < maxWrong {
		_, err := converter.ObjectToTyped(rest)
		if err == nil {
			break
		}
		found := wrongIn(rest.Object, err)
		if wrong = append(wrong, found...); len(found) == 0 {
			return wrong, len(wrong) > 0
		}
		taken := false
		for _, w := range found {
			taken = w.unknown && w.path.Cut(rest.Object, keepParents) || taken
		}
		if !taken {
			break
		}
	}
	slices.SortFunc(wrong, func(a, b wrongField) int { return a.path.Compare(b.path) })
	return wrong, true
}

func keepParents(fieldowners.Path) bool { return true }

// wrongIn returns the fields in an error of the schema, without values.
func wrongIn(object map[string]any, err error) (wrong []wrongField) {
	for line := range strings.Lines(err.Error()) {
		match := wrongLine.FindStringSubmatch(line)
		if match == nil {
			continue
		}
		w := wrongField{reason: match[2], unknown: match[2] == "field not declared in schema"}
		if w.unknown {
			w.reason = "there is no such field"
		}
		if located := fieldowners.Locate(object, match[1]); len(located) > 0 {
			w.path = located[0]
		} else if path, err := fieldowners.ParsePath(match[1]); err == nil {
			w.path = path
		}
		wrong = append(wrong, w)
	}
	return wrong
}

// newFields returns the topmost fields of an intent for which the live object has no example: a
// field of the same name, in any item of a list. Metadata is the same for all kinds and left
// out.
func newFields(intent fieldowners.Field, live map[string]any) (found []fieldowners.Path) {
	var walk func(field fieldowners.Field, examples []any)
	walk = func(field fieldowners.Field, examples []any) {
		for _, below := range field.Fields {
			if !below.Exists {
				continue
			}
			known := examplesOf(below.Path, examples)
			if len(known) == 0 {
				found = append(found, below.Path)
				continue
			}
			walk(below, known)
		}
	}
	for _, field := range intent.Fields {
		if name := field.Path.String(); name != ".apiVersion" && name != ".kind" && name != ".metadata" {
			walk(fieldowners.Field{Fields: []fieldowners.Field{field}}, []any{live})
		}
	}
	return found
}

// examplesOf returns the values to which the last step of a path leads.
func examplesOf(path fieldowners.Path, parents []any) (found []any) {
	steps := path.Elements()
	name := steps[len(steps)-1].Field
	for _, parent := range parents {
		switch parent := parent.(type) {
		case map[string]any:
			if name == nil {
				continue
			}
			if value, has := parent[*name]; has {
				found = append(found, value)
			}
		case []any:
			if name == nil {
				found = append(found, parent...)
			}
		}
	}
	return found
}
