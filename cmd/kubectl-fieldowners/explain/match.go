package explain

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"coapply.dev/cmd/kubectl-fieldowners/internal/view"
	"coapply.dev/fieldowners"
	"coapply.dev/internal/command"
)

// subjectOf returns the object that live and intent are; zero if both are nil. The error says that
// they are two objects.
func subjectOf(live, intent map[string]any) (known command.Subject, err error) {
	for i, object := range []map[string]any{live, intent} {
		if object == nil {
			continue
		}
		what := []string{"the live object", "the intent"}[i]
		s, err := subjectOfObject(object)
		switch {
		case err != nil:
			return command.Subject{}, fmt.Errorf("%s: %w", what, err)
		case i == 1 && live != nil && !isSame(live, intent):
			return command.Subject{}, fmt.Errorf("%s is %s and the live object is %s: give the same object", what, s, known)
		case s.Namespace == "": // as intents may be
			s.Namespace = known.Namespace
		}
		known = s
	}
	return known, nil
}

// isSame reports whether two contents may be the same object: an intent may lack its namespace.
func isSame(a, b map[string]any) bool {
	x, _ := subjectOfObject(a)
	y, _ := subjectOfObject(b)
	if x.Namespace == "" || y.Namespace == "" {
		x.Namespace, y.Namespace = "", ""
	}
	return x == y
}

func subjectOfObject(object map[string]any) (command.Subject, error) {
	o := unstructured.Unstructured{Object: object}
	version, err := schema.ParseGroupVersion(o.GetAPIVersion())
	switch {
	case err != nil:
		return command.Subject{}, err
	case o.GetAPIVersion() == "" || o.GetKind() == "" || o.GetName() == "":
		return command.Subject{}, fmt.Errorf("apiVersion, kind and metadata.name are needed, it has %q, %q and %q", o.GetAPIVersion(), o.GetKind(), o.GetName())
	}
	return command.Subject{Group: version.Group, Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName()}, nil
}

// locate sets the Path of the field that the server means: one with this name in the owner's
// entry, preferably one that the intent sets; if the entry has none, as for the owner
// before-first-apply, one of the intent, or else of the live object; if none of these has any,
// what the name means in every object. If two fields have this name ({"a.b": 1} and {"a": {"b":
// 1}}), the Path stays the root.
func (c *Conflict) locate(fields map[string][]fieldowners.Owned, live, intent map[string]any) {
	var owned, wanted []fieldowners.Path
	for _, o := range fields[c.ServerPath] {
		if view.Owner(o.Manager) != c.Owner {
			continue
		}
		owned = append(owned, o.Path)
		if _, set := o.Path.Nearest(intent); set {
			wanted = append(wanted, o.Path)
		}
	}
	candidates := wanted
	if len(candidates) == 0 {
		candidates = fieldowners.Locate(intent, c.ServerPath)
	}
	if len(candidates) == 0 {
		candidates = owned
	}
	if len(candidates) == 0 {
		candidates = fieldowners.Locate(live, c.ServerPath)
	}
	if len(candidates) == 0 {
		candidates = []fieldowners.Path{certainPath(c.ServerPath)}
	}
	if candidates = slices.CompactFunc(candidates, fieldowners.Path.Equal); len(candidates) == 1 {
		c.Path = candidates[0]
	}
}

// valueOf returns the value that an object has for a field; nil if it has none, or the field is
// not known.
func valueOf(path fieldowners.Path, object map[string]any, isSecret bool) *any {
	value, known := path.Value(object)
	switch {
	case !known || path.IsRoot():
		return nil
	case isSecret && path.HoldsSecret():
		value = fieldowners.Hidden
	}
	return &value
}

// certain matches the texts of the API server that have one meaning in every object. Otherwise a
// dot may separate two fields or be part of a map key, so that below a possible map there can be
// one name at most. Keys of labels and annotations end the text.
var certain = regexp.MustCompile(`^(?:(?:\.spec(?:\.template\.spec)?|\.status|\.metadata)?\.\w+(?:\.\w+|` +
	`\[[^"\]](?:"(?:[^"\\]|\\.)*"|[^"\]])*\](?:\.\w+){0,2})?|\.metadata\.(?:labels|annotations)\.(.+))$`)

// certainPath returns the path of such a text, and the root for any other.
func certainPath(serverPath string) fieldowners.Path {
	found := certain.FindStringSubmatch(serverPath)
	if found == nil {
		return fieldowners.Path{}
	}
	text := serverPath
	if key := found[1]; key != "" {
		text = strings.TrimSuffix(text, "."+key) + "[" + strconv.Quote(key) + "]"
	}
	path, _ := fieldowners.ParsePath(text)
	return path
}

// byServerPath returns the owned fields by the API server's names for them.
func byServerPath(o fieldowners.Ownership) map[string][]fieldowners.Owned {
	fields := map[string][]fieldowners.Owned{}
	for _, entry := range o.Entries() {
		for _, path := range entry.Fields() {
			name := path.ServerString()
			fields[name] = append(fields[name], fieldowners.Owned{Path: path, Manager: entry.Manager})
		}
	}
	return fields
}
