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

// subjectOf returns the identity of the object that live and intent describe. If both are nil, it returns the zero
// Subject. If they describe different objects, it returns an error.
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
			return command.Subject{}, fmt.Errorf("%s is %s, but the live object is %s: give files that describe the same object", what, s, known)
		case s.Namespace == "": // an intent may lack its namespace
			s.Namespace = known.Namespace
		}
		known = s
	}
	return known, nil
}

// isSame reports whether two unstructured objects may be the same object. Namespaces are compared only
// if both objects have one, because an intent may lack its namespace.
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
		return command.Subject{}, fmt.Errorf("apiVersion, kind and metadata.name are required, but the object has %q, %q and %q", o.GetAPIVersion(), o.GetKind(), o.GetName())
	}
	return command.Subject{Group: version.Group, Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName()}, nil
}

// locate sets c.Path to the field that the API server's string, c.ServerPath, stands for. fields is the result of
// byServerPath for the live object. locate searches the following sources in order, and stops at the first source that
// has a field with this string:
//  1. the fields of the owner's managed fields entry that the intent sets;
//  2. the fields of the intent;
//  3. all fields of the owner's entry (the owner before-first-apply may have no entry);
//  4. the fields of the live object;
//  5. the string itself, if it means the same field in every object.
//
// If the source has two fields with this string, as {"a.b": 1} and {"a": {"b": 1}} do, c.Path stays the root path.
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

// valueOf returns the value of a field in an object. It returns nil if the object does not have the field, or if the
// path is the root. Values of a Secret are hidden.
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

// certain matches the API server's strings that mean the same field in every object. Other strings are ambiguous,
// because a dot may separate two fields or be part of a map key. For example, .spec.selector may be a map whose keys
// contain dots. Therefore, certain accepts at most one more name after such a field. After .metadata.labels or
// .metadata.annotations, the whole rest of the string is one key.
var certain = regexp.MustCompile(`^(?:(?:\.spec(?:\.template\.spec)?|\.status|\.metadata)?\.\w+(?:\.\w+|` +
	`\[[^"\]](?:"(?:[^"\\]|\\.)*"|[^"\]])*\](?:\.\w+){0,2})?|\.metadata\.(?:labels|annotations)\.(.+))$`)

// certainPath returns the path for a string that the regular expression certain matches, and the root
// path for other strings.
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

// byServerPath returns the owned fields as a map. The key is the API server's string for the field.
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
