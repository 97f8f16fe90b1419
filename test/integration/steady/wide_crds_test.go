package steady

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"coapply.dev/test/kit/model"
)

// randomKinds are custom kinds with schemas that the dice make: each of what a schema of a CRD can say of how values merge.
func randomKinds(d model.Dice, count int) []steadyKind {
	var kinds []steadyKind
	for n := range count {
		shape := steadyShape(map[string]*model.Shape{
			"spec": randomObject(d, 3), "status": model.ObjectOf(map[string]*model.Shape{"phase": model.Words, "more": randomObject(d, 1)}),
		})
		kind := schema.GroupVersionKind{Group: "wide.coapply.dev", Version: "v1", Kind: fmt.Sprintf("Wide%d", n)}
		forms := []steadyForm{{GroupVersionKind: kind, shape: shape}}
		if d.Chance(0.5) {
			kind.Version = "v2"
			forms = append(forms, steadyForm{GroupVersionKind: kind, shape: shape})
		}
		kinds = append(kinds, steadyKind{base: "{}", forms: forms})
	}
	return kinds
}

func randomObject(d model.Dice, depth int) *model.Shape {
	object := model.ObjectOf(map[string]*model.Shape{})
	for n := range 3 + d.IntN(4) {
		name := fmt.Sprintf("f%d", n)
		object.Fields[name] = randomShape(d, depth)
		if field := object.Fields[name]; field.Kind == model.LeafShape && d.Chance(0.25) {
			if object.Defaults == nil {
				object.Defaults = map[string]any{}
			}
			object.Defaults[name] = field.Samples[0]
		}
	}
	return object
}

func randomShape(d model.Dice, depth int) *model.Shape {
	if depth == 0 {
		return randomLeaf(d)
	}
	switch d.IntN(12) {
	case 0, 1:
		return randomObject(d, depth-1)
	case 2:
		return mapOf(randomShape(d, depth-1), "a", "b.c/d", "Größe")
	case 3:
		return randomList(d, depth-1)
	case 4:
		return &model.Shape{Kind: model.SetShape, Elem: model.Pick(d, []*model.Shape{
			{Samples: []any{"x", "y", "z"}}, {Samples: []any{int64(1), int64(2)}}, {Samples: []any{true, false}}})}
	case 5:
		return freeObject()
	case 6:
		return nullable(d)
	}
	return randomLeaf(d)
}

// randomList is known by one key or two, of several types, with a default or without.
func randomList(d model.Dice, depth int) *model.Shape {
	elem := randomObject(d, depth)
	elem.Defaults = maps.Clone(elem.Defaults)
	keys := map[string]*model.Shape{"id": {Samples: []any{"a", "b.c"}}, "at": {Samples: []any{int64(1), int64(2)}}, "on": {Samples: []any{true, false}}}
	names := []string{"at", "id", "on"}
	d.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	names = names[:1+d.IntN(2)]
	slices.Sort(names)
	for i, name := range names {
		elem.Fields[name] = keys[name]
		if i > 0 && d.Chance(0.5) {
			if elem.Defaults == nil {
				elem.Defaults = map[string]any{}
			}
			elem.Defaults[name] = keys[name].Samples[0]
		}
	}
	return &model.Shape{Kind: model.ListShape, Keys: names, Elem: elem}
}

// freeObject has no schema: maps in it are merged field by field, lists replaced.
func freeObject() *model.Shape {
	return &model.Shape{
		Kind: model.ObjectShape, Schema: map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true},
		Fields: map[string]*model.Shape{
			"text": model.Words, "number": oneOf(int64(1), 1.5), "list": oneOf([]any{"a"}, []any{int64(1), map[string]any{"x": "y"}}),
			"deep": model.ObjectOf(map[string]*model.Shape{"er": model.Words, "null": oneOf("x", true)}),
		},
	}
}

func nullable(d model.Dice) *model.Shape {
	return model.Pick(d, []*model.Shape{
		{Samples: []any{"a", nil, "b"}, Schema: map[string]any{"type": "string", "nullable": true}},
		{Samples: []any{int64(1), nil}, Schema: map[string]any{"type": "integer", "nullable": true}},
		{Samples: []any{map[string]any{"x": "y"}, nil}, Schema: map[string]any{
			"type": "object", "nullable": true, "properties": map[string]any{"x": map[string]any{"type": "string"}, "z": map[string]any{"type": "string", "default": "d"}}}},
		{Samples: []any{[]any{"x"}, nil}, Schema: map[string]any{"type": "array", "nullable": true, "items": map[string]any{"type": "string"}}},
	})
}

func randomLeaf(d model.Dice) *model.Shape {
	typed := func(name string, samples ...any) *model.Shape {
		return &model.Shape{Samples: samples, Schema: map[string]any{"type": name}}
	}
	anything := map[string]any{"type": "string"}
	return model.Pick(d, []*model.Shape{
		typed("string", "one", "two", ""), typed("integer", int64(1), int64(0), int64(2)), typed("boolean", true, false),
		typed("number", 1.5, int64(2), 0.25), {Samples: []any{int64(5), "5%"}, Schema: map[string]any{"x-kubernetes-int-or-string": true}},
		{Samples: []any{"2026-01-02T03:04:05Z", "2026-01-02T04:04:05+01:00"}, Schema: map[string]any{"type": "string", "format": "date-time"}},
		{Samples: []any{[]any{"x", "y"}, []any{"y"}}, Schema: map[string]any{"type": "array", "x-kubernetes-list-type": "atomic", "items": anything}},
		{Samples: []any{[]any{map[string]any{"a": "x"}}, []any{map[string]any{"a": "y", "b": int64(1)}, map[string]any{"b": int64(2)}}}, Schema: map[string]any{
			"type": "array", "items": map[string]any{"type": "object", "properties": map[string]any{"a": map[string]any{"type": "string", "default": "d"}, "b": map[string]any{"type": "integer"}}}}},
		{Samples: []any{map[string]any{"a": "one"}, map[string]any{"a": "two", "b": "x"}}, Schema: map[string]any{
			"type": "object", "x-kubernetes-map-type": "atomic", "properties": map[string]any{"a": anything, "b": anything, "c": map[string]any{"type": "string", "default": "d"}}}},
		{Samples: []any{embedded("a"), embedded("b")}, Schema: map[string]any{
			"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true}},
	})
}

func embedded(name string) any {
	return map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name, "labels": map[string]any{"a": name}}, "data": map[string]any{"k": name}}
}
