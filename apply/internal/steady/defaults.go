package steady

import (
	"encoding/json"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"coapply.dev/apply/internal/gotypes"
)

// completed returns the wanted content with the defaults that the server adds in values that
// are owned as a whole. Elsewhere a default is a field of its own, which the object has and the
// intent does not. ok is false if the server may read null as a default.
func (r Request) completed(wanted *typed.TypedValue) (whole map[string]any, ok bool) {
	c := completion{types: wanted.Schema(), servers: gotypes.IsServersOwnGroup(r.Kind.Group), ok: true}
	whole = runtime.DeepCopyJSON(r.Config)
	c.add(whole, wanted.TypeRef(), false)
	return whole, c.ok
}

// completion adds defaults in atomic values: as the server does for a custom resource
// (defaulting.Default of apiextensions-apiserver), and some of those that it adds in its own
// kinds.
type completion struct {
	types   *schema.Schema
	servers bool // the kind is one of the server's own
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

// defaultOf returns a copy of the default of a field of a type, or nil. Types with names that
// are not the server's own are those of an aggregated API, of which it is not known whether it
// adds the defaults that it declares. The server's own kinds declare few of their defaults, and
// some for fields that are always written: see serverDefaults.
func (c *completion) defaultOf(of schema.TypeRef, field schema.StructField) (value any) {
	switch {
	case c.servers && of.NamedType != nil:
		return runtime.DeepCopyJSONValue(serverDefaults[*of.NamedType][field.Name])
	case c.servers, of.NamedType != nil:
		return nil
	}
	encoded, err := json.Marshal(field.Default)
	if err != nil || utiljson.Unmarshal(encoded, &value) != nil { // with integers, as objects have them
		return nil
	}
	return value
}

// serverDefaults are the defaults of types in atomic lists and structs, by the names of the
// types in the server's schemas. A default of a v1 type does not change, and these are as old
// as the type: see docs/design/decisions/0054. An intent with a default that is missing here is sent
// each time.
var serverDefaults = map[string]map[string]any{
	"io.k8s.api.admissionregistration.v1.MatchResources": {
		"matchPolicy": "Equivalent", "namespaceSelector": map[string]any{}, "objectSelector": map[string]any{},
	},
	"io.k8s.api.admissionregistration.v1.NamedRuleWithOperations": {"scope": "*"},
	"io.k8s.api.admissionregistration.v1.RuleWithOperations":      {"scope": "*"},
	"io.k8s.api.networking.v1.NetworkPolicyPort":                  {"protocol": "TCP"},
}

// emptyDefaults holds the API server's defaults for empty maps of built-in kinds, by the path of
// the map. The API server sets each missing field of such a default separately. So it restores
// the whole default from any part of the default. The defaults of v1 types never change.
var emptyDefaults = map[runtimeschema.GroupVersionKind]map[string]map[string]any{
	appsv1.SchemeGroupVersion.WithKind("Deployment"): {
		".spec.strategy": {"type": "RollingUpdate", "rollingUpdate": map[string]any{"maxSurge": "25%", "maxUnavailable": "25%"}},
	},
	appsv1.SchemeGroupVersion.WithKind("DaemonSet"): {
		".spec.updateStrategy": {"type": "RollingUpdate", "rollingUpdate": map[string]any{"maxSurge": int64(0), "maxUnavailable": int64(1)}},
	},
}

// notRestored returns those of the paths at which the object's value is not the API server's
// default for an empty map.
func (r Request) notRestored(emptied []fieldpath.Path, live *typed.TypedValue) []fieldpath.Path {
	return slices.DeleteFunc(slices.Clone(emptied), func(path fieldpath.Path) bool {
		restored, ok := emptyDefaults[r.Kind][path.String()]
		return ok && value.Equals(valueAt(live.AsValue(), path), value.NewValueInterface(restored))
	})
}
