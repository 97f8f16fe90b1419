package objects

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// visit is called with one object, its name in messages, and its indexes in the Lists around
// it.
type visit = func(source string, places []int, object map[string]any) error

// flatten calls each with the items of a List, or with the object itself.
func flatten(source string, places []int, object map[string]any, each visit) error {
	kind, _ := object["kind"].(string)
	apiVersion, _ := object["apiVersion"].(string)
	items, isList := object["items"].([]any)
	if !isList || !strings.HasSuffix(kind, "List") {
		if kind == "" || apiVersion == "" {
			return fmt.Errorf("%s: apiVersion or kind is missing: no Kubernetes object", source)
		}
		if _, err := schema.ParseGroupVersion(apiVersion); err != nil {
			return fmt.Errorf("%s: apiVersion is not of the form group/version: no Kubernetes object", source)
		}
		return each(source, places, object)
	}
	for i, raw := range items {
		if err := flattenItem(source, places, i, raw, kind, apiVersion, each); err != nil {
			return err
		}
	}
	return nil
}

// flattenItem calls each with an item of a List of a kind.
func flattenItem(source string, places []int, i int, raw any, kind, apiVersion string, each visit) error {
	at := fmt.Sprintf("%s, item %d", source, i)
	item, isMap := raw.(map[string]any)
	if !isMap {
		return fmt.Errorf("%s: no object, but %s", at, kindOfValue(raw))
	}
	// The items of a typed list, as the API returns it, have neither apiVersion nor kind.
	if ofKind := strings.TrimSuffix(kind, "List"); item["kind"] == nil && ofKind != "" {
		item["apiVersion"], item["kind"] = apiVersion, ofKind
	}
	return flatten(at, append(slices.Clone(places), i), item, each)
}
