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

// completed returns the content of the apply configuration, with the defaults that the API server adds inside values
// that are owned as a whole, such as the items of an atomic list. Other defaults are separate fields that the manager
// does not own, and are not added. ok is false if the API server may replace a null by a default.
func (r Request) completed(wanted *typed.TypedValue) (whole map[string]any, ok bool) {
	c := completion{types: wanted.Schema(), servers: gotypes.IsServersOwnGroup(r.Kind.Group), ok: true}
	whole = runtime.DeepCopyJSON(r.Config)
	c.add(whole, wanted.TypeRef(), false)
	return whole, c.ok
}

// completion adds defaults inside values that are owned as a whole. For a custom resource it adds all defaults, as
// defaulting.Default of apiextensions-apiserver does. For a built-in kind it adds the defaults in serverDefaults.
type completion struct {
	types   *schema.Schema
	servers bool // whether the kind is compiled into the API server
	ok      bool // the second result of Request.completed
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

// defaultOf returns a copy of the default of a field, or nil. For a built-in kind it uses serverDefaults, because the
// schemas of built-in kinds lack most defaults, and declare defaults for some fields that the Go types always encode.
// For other kinds it uses the schema. It returns nil if the field belongs to a named type of the schema: such types
// occur in the schemas of aggregated API servers, which do not always add the defaults in their schemas.
func (c *completion) defaultOf(of schema.TypeRef, field schema.StructField) (value any) {
	switch {
	case c.servers && of.NamedType != nil:
		return runtime.DeepCopyJSONValue(serverDefaults[*of.NamedType][field.Name])
	case c.servers, of.NamedType != nil:
		return nil
	}
	encoded, err := json.Marshal(field.Default)
	if err != nil || utiljson.Unmarshal(encoded, &value) != nil { // utiljson decodes integers as int64, as in unstructured objects
		return nil
	}
	return value
}

// serverDefaults contains the defaults of built-in types that are used in atomic lists and structs. The keys are the
// name of the type in the API server's schemas, and the name of the field. The defaults of v1 types never change. Each
// of these defaults is as old as its type (docs/design/decisions/0054). An intent that relies on a default that is
// missing here never looks unchanged, and is sent in every reconcile.
var serverDefaults = map[string]map[string]any{
	"io.k8s.api.admissionregistration.v1.MatchResources": {
		"matchPolicy": "Equivalent", "namespaceSelector": map[string]any{}, "objectSelector": map[string]any{},
	},
	"io.k8s.api.admissionregistration.v1.NamedRuleWithOperations": {"scope": "*"},
	"io.k8s.api.admissionregistration.v1.RuleWithOperations":      {"scope": "*"},
	"io.k8s.api.networking.v1.NetworkPolicyPort":                  {"protocol": "TCP"},
}

// emptyDefaults contains the values that the API server gives to empty maps of built-in kinds, by kind and path. The
// API server sets the default of each missing field of such a map separately. So if a map has these values, and an
// apply removes some of its fields, the API server restores the fields. The defaults of v1 types never change.
var emptyDefaults = map[runtimeschema.GroupVersionKind]map[string]map[string]any{
	appsv1.SchemeGroupVersion.WithKind("Deployment"): {
		".spec.strategy": {"type": "RollingUpdate", "rollingUpdate": map[string]any{"maxSurge": "25%", "maxUnavailable": "25%"}},
	},
	appsv1.SchemeGroupVersion.WithKind("DaemonSet"): {
		".spec.updateStrategy": {"type": "RollingUpdate", "rollingUpdate": map[string]any{"maxSurge": int64(0), "maxUnavailable": int64(1)}},
	},
}

// notRestored returns the given paths at which the apply would change the object. The intent sets the maps at these
// paths to {} or null. The apply removes all fields of such a map, and then the API server sets the defaults of an
// empty map. If these defaults equal the live value of the map, nothing changes.
func (r Request) notRestored(emptied []fieldpath.Path, live *typed.TypedValue) []fieldpath.Path {
	return slices.DeleteFunc(slices.Clone(emptied), func(path fieldpath.Path) bool {
		restored, ok := emptyDefaults[r.Kind][path.String()]
		return ok && value.Equals(valueAt(live.AsValue(), path), value.NewValueInterface(restored))
	})
}
