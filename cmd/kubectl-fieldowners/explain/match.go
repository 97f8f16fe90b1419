package explain

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"coapply.dev/fieldowners"
	"coapply.dev/fieldowners/command"
)

// subject returns the object that the answer is about, and an error if live or intent are
// another one.
func (a conflictAnswer) subject(live, intent map[string]any) (command.Subject, error) {
	known := a.object
	known.Kind = "" // what an answer has there is the name of a resource
	for i, object := range []map[string]any{live, intent} {
		if object == nil {
			continue
		}
		what := []string{"the live object", "the intent"}[i]
		s, err := subjectOfObject(object)
		switch {
		case err != nil:
			return command.Subject{}, fmt.Errorf("%s: %w", what, err)
		case known.Name != "" && !mayBe(known, s):
			return command.Subject{}, fmt.Errorf("%s is %s and the conflict is about %s: give the same object", what, s, known)
		case s.Namespace == "": // as intents may be
			s.Namespace = known.Namespace
		}
		known = s
	}
	if known.Kind == "" {
		return a.object, nil
	}
	return known, nil
}

// mayBe reports whether both may be the same object, by what is known of both.
func mayBe(s, other command.Subject) bool {
	agree := func(a, b string) bool { return a == "" || b == "" || a == b }
	return s.Name == other.Name && s.Group == other.Group && agree(s.Kind, other.Kind) && agree(s.Namespace, other.Namespace)
}

func subjectOfObject(object map[string]any) (command.Subject, error) {
	apiVersion, _ := object["apiVersion"].(string)
	kind, _ := object["kind"].(string)
	metadata, _ := object["metadata"].(map[string]any)
	name, _ := metadata["name"].(string)
	namespace, _ := metadata["namespace"].(string)
	version, err := schema.ParseGroupVersion(apiVersion)
	switch {
	case err != nil:
		return command.Subject{}, err
	case apiVersion == "" || kind == "" || name == "":
		return command.Subject{}, fmt.Errorf("apiVersion, kind and metadata.name are needed, it has %q, %q and %q", apiVersion, kind, name)
	}
	return command.Subject{Group: version.Group, Kind: kind, Namespace: namespace, Name: name}, nil
}

// ownershipOf returns the ownership of an object, empty if it has no managed fields.
func ownershipOf(object map[string]any) (fieldowners.Ownership, error) {
	entries, unread := fieldowners.EntriesOf(object)
	if len(unread) > 0 {
		return fieldowners.Ownership{}, unread[0]
	}
	return fieldowners.Parse(entries)
}

// locate sets the Path of the field that the server means: one with this name in the owner's
// entry, preferably one that the intent sets; if the entry has none, as for the owner
// before-first-apply, one of the intent, or else of the live object; if none of these has any,
// what the name means in every object. If two fields have this name ({"a.b": 1} and {"a": {"b":
// 1}}), the Path stays the root. The owner is completed from its entry.
func (c *Conflict) locate(fields map[string][]fieldowners.Owned, live, intent map[string]any) {
	var owned, wanted []fieldowners.Path
	asked := c.Owner
	asked.APIVersion = ""
	for _, o := range fields[c.ServerPath] {
		who := o.Manager
		who.APIVersion = ""
		if !who.SameEntry(asked) {
			continue
		}
		c.Owner = o.Manager
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

func (c *Conflict) setValues(live, intent map[string]any, secret bool) {
	if c.Path.IsRoot() {
		return
	}
	c.Ours, c.OursKnown = c.Path.Value(intent)
	c.Theirs, c.TheirsKnown = c.Path.Value(live)
	if secret && c.Path.HoldsSecret() {
		c.Ours, c.Theirs = hideKnown(c.OursKnown), hideKnown(c.TheirsKnown)
	}
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
