package kit

// Nut is the path of a list item in a custom resource.
const Nut = `.spec.parts[name="nut"]`

// FreeKeys are map keys that the API server does not quote in a path.
var FreeKeys = map[string]string{
	"dots":      `a.b.c`,
	"slash":     `a/b`,
	"quote":     `a"b`,
	"bracket":   `a[0]`,
	"like keys": `a[name="b"].c`,
	"space":     `a b`,
	"backslash": `a\b`,
	"non-ASCII": `größe-名`,
	"control":   "a\tb",
	"empty":     ``,
	"markup":    `<a&b>`,
}

// CRDShapes are Shapes of custom resources, one for each sort of field.
var CRDShapes = map[string]Shape{
	"custom scalar": {
		Reason: "a field of a custom resource",
		Kind:   "Shape",
		Theirs: `{spec: {title: theirs}}`,
		Ours:   `{metadata: {labels: {ours: x}}, spec: {title: ours}}`,
		Path:   ".spec.title", Want: "ours", Have: "theirs",
		Whole: []string{OurLabel}, Rest: []string{OurLabel},
	},
	"int or string": {
		Reason: "the values differ in type",
		Kind:   "Shape",
		Theirs: `{spec: {port: http}}`,
		Ours:   `{metadata: {labels: {ours: x}}, spec: {port: 80}}`,
		Path:   ".spec.port", Want: int64(80), Have: "http",
		Whole: []string{OurLabel}, Rest: []string{OurLabel},
	},
	"unknown field": {
		Reason: "what a schema does not know is merged field by field all the same",
		Kind:   "Shape",
		Theirs: `{spec: {blob: {deep: {deep: theirs}}}}`,
		Ours:   `{spec: {blob: {deep: {deep: ours, more: mine}}}}`,
		Path:   ".spec.blob.deep.deep", Want: "ours", Have: "theirs",
		Whole: []string{".spec.blob.deep.more"}, Rest: []string{".spec.blob.deep.more"},
	},
	"unknown list": {
		Reason: "a list that a schema does not know is atomic",
		Kind:   "Shape",
		Theirs: `{spec: {blob: {list: [{name: a, v: theirs}]}}}`,
		Ours:   `{spec: {blob: {list: [{name: a, v: ours}], more: mine}}}`,
		Path:   ".spec.blob.list",
		Want:   []any{map[string]any{"name": "a", "v": "ours"}}, Have: []any{map[string]any{"name": "a", "v": "theirs"}},
		Whole: []string{".spec.blob.more"}, Rest: []string{".spec.blob.more"},
	},
	"custom item": {
		Reason: "an item of an associative list of a custom resource",
		Kind:   "Shape",
		Theirs: `{spec: {parts: [{name: nut, color: theirs}]}}`,
		Ours:   `{spec: {parts: [{name: nut, color: ours, marks: {a.b: x}}]}}`,
		Path:   Nut + ".color", Want: "ours", Have: "theirs",
		Whole: []string{Nut + `.marks["a.b"]`, Nut + ".name"}, Rest: []string{Nut + `.marks["a.b"]`, Nut + ".name"},
	},
	"map in a custom item": {
		Reason: "the item goes with its map, and the list with the item",
		Kind:   "Shape",
		Theirs: `{spec: {parts: [{name: nut, marks: {a.b: theirs}}]}}`,
		Ours:   `{metadata: {labels: {ours: x}}, spec: {parts: [{name: nut, marks: {a.b: ours}}]}}`,
		Path:   Nut + `.marks["a.b"]`, ServerPath: Nut + ".marks.a.b", Want: "ours", Have: "theirs",
		Whole: []string{OurLabel, Nut + ".name"}, Rest: []string{OurLabel},
	},
	"custom list in a list": {
		Reason: "an item by two numbers, one of them left to its default",
		Kind:   "Shape",
		Theirs: `{spec: {parts: [{name: nut, holes: [{row: 1, col: 0, depth: 3}]}]}}`,
		Ours:   `{spec: {parts: [{name: nut, holes: [{row: 1, depth: 2}, {row: 1, col: 1, depth: 2}]}]}}`,
		Path:   Nut + ".holes[col=0,row=1].depth", Want: int64(2), Have: int64(3),
		Whole: []string{Nut + ".holes[col=0,row=1].row", Nut + ".holes[col=1,row=1].depth", Nut + ".holes[col=1,row=1].row", Nut + ".holes[col=1,row=1].col", Nut + ".name"},
		Rest:  []string{Nut + ".holes[col=1,row=1].depth", Nut + ".holes[col=1,row=1].row", Nut + ".holes[col=1,row=1].col", Nut + ".name"},
	},
	"custom atomic list": {
		Reason: "is one field",
		Kind:   "Shape",
		Theirs: `{spec: {steps: [a, b]}}`,
		Ours:   `{metadata: {labels: {ours: x}}, spec: {steps: [b]}}`,
		Path:   ".spec.steps", Want: []any{"b"}, Have: []any{"a", "b"},
		Whole: []string{OurLabel}, Rest: []string{OurLabel},
	},
	"custom atomic map": {
		Reason: "is one field, also where both set other keys of it",
		Kind:   "Shape",
		Theirs: `{spec: {frame: {w: 1}}}`,
		Ours:   `{metadata: {labels: {ours: x}}, spec: {frame: {h: 2}}}`,
		Path:   ".spec.frame", Want: map[string]any{"h": int64(2)}, Have: map[string]any{"w": int64(1)},
		Whole: []string{OurLabel}, Rest: []string{OurLabel},
	},
	"custom status": {
		Reason:      "a field of the status",
		Kind:        "Shape",
		Subresource: "status",
		Theirs:      `{status: {phase: theirs}}`,
		Ours:        `{status: {phase: ours, size: 1}}`,
		Path:        ".status.phase", Want: "ours", Have: "theirs",
		Whole: []string{".status.size"}, Rest: []string{".status.size"},
	},
	"custom condition": {
		Reason:      "conditions are a list by type",
		Kind:        "Shape",
		Subresource: "status",
		Theirs:      `{status: {conditions: [{type: Ready, status: "False"}]}}`,
		Ours:        `{status: {conditions: [{type: Ready, status: "True", message: mine}]}}`,
		Path:        `.status.conditions[type="Ready"].status`, Want: "True", Have: "False",
		Whole: []string{`.status.conditions[type="Ready"].message`, `.status.conditions[type="Ready"].type`},
		Rest:  []string{`.status.conditions[type="Ready"].message`, `.status.conditions[type="Ready"].type`},
	},
}
