package steady

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"coapply.dev/apply/internal/gotypes"
)

// completed returns what is wanted with the defaults that the server adds to it where a value
// is owned as a whole. In all other places a default is a field of its own, which the object
// has and the intent has not. It is not ok where null may be a default to the server.
func (r Request) completed(wanted *typed.TypedValue) (whole map[string]any, ok bool) {
	c := completion{types: wanted.Schema(), servers: gotypes.IsServersOwnGroup(r.Kind.Group), ok: true}
	whole = runtime.DeepCopyJSON(r.Config)
	c.add(whole, wanted.TypeRef(), false)
	return whole, c.ok
}

// completion does what the server does for a custom resource (defaulting.Default of
// apiextensions-apiserver), and some of what it does for its own kinds, in what is atomic.
type completion struct {
	types   *schema.Schema
	servers bool // it is one of the server's own kinds
	ok      bool
}

func (c *completion) add(value any, of schema.TypeRef, atomic bool) {
	atom, _ := c.types.Resolve(of)
	switch value := value.(type) {
	case nil:
		c.ok = c.ok && (c.servers || !atomic)
	case map[string]any:
		if atom.Map != nil {
			c.addFields(value, of, atom.Map, atomic || atom.Map.ElementRelationship == schema.Atomic)
		}
	case []any:
		if atom.List == nil {
			return
		}
		for _, item := range value {
			c.add(item, atom.List.ElementType, atomic || atom.List.ElementRelationship == schema.Atomic)
		}
	}
}

func (c *completion) addFields(value map[string]any, of schema.TypeRef, known *schema.Map, atomic bool) {
	for _, field := range known.Fields {
		if at, has := value[field.Name]; atomic && (!has || at == nil && c.servers) {
			if added := c.defaultOf(of, field); added != nil {
				value[field.Name] = added
			}
		}
	}
	for name, below := range value {
		ref := known.ElementType
		if field, ok := known.FindField(name); ok {
			ref = field.Type
		}
		c.add(below, ref, atomic)
	}
}

// defaultOf returns a copy of what a field of a type has by default, or nil. The types of a
// custom resource have no names; those of an aggregated API have, and nobody knows whether it
// adds the defaults that it declares. The server's own kinds declare defaults of fields that
// they always write, too, and leave out most of the others.
func (c *completion) defaultOf(of schema.TypeRef, field schema.StructField) (value any) {
	switch {
	case c.servers && of.NamedType != nil:
		return runtime.DeepCopyJSONValue(serverDefaults[*of.NamedType][field.Name])
	case c.servers, of.NamedType != nil, field.Default == nil:
		return nil
	}
	encoded, err := json.Marshal(field.Default)
	if err != nil || utiljson.Unmarshal(encoded, &value) != nil { // with integers, as objects have them
		return nil
	}
	return value
}

// serverDefaults are those of types that stand in atomic lists and structs, by the names of
// the types in the server's schemas. A default of a v1 type does not change, and these are as
// old as the type: see docs/decisions/0054. What is missing here is sent each time.
var serverDefaults = map[string]map[string]any{
	"io.k8s.api.admissionregistration.v1.MatchResources": {
		"matchPolicy": "Equivalent", "namespaceSelector": map[string]any{}, "objectSelector": map[string]any{},
	},
	"io.k8s.api.admissionregistration.v1.NamedRuleWithOperations": {"scope": "*"},
	"io.k8s.api.admissionregistration.v1.RuleWithOperations":      {"scope": "*"},
	"io.k8s.api.networking.v1.NetworkPolicyPort":                  {"protocol": "TCP"},
}
