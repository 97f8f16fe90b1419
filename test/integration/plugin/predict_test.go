package plugin

import (
	"maps"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"coapply.dev/fieldowners"
	"coapply.dev/test/kit"
	"coapply.dev/test/kit/model"
)

// predictOwners are the ways in which others own what we want too.
var predictOwners = map[string]func(s *kit.Stage, text string){
	"nobody":      func(*kit.Stage, string) {},
	"applier":     func(s *kit.Stage, text string) { s.Apply("other", text) },
	"updater":     func(s *kit.Stage, text string) { s.Update("other", text) },
	"both":        func(s *kit.Stage, text string) { s.Update("other", text); s.Apply("second", text) },
	"our updates": func(s *kit.Stage, text string) { s.Update("us", text) },
}

// predictShapes are those of the decisions, and some more.
func predictShapes() map[string]kit.Shape {
	shapes := maps.Clone(kit.BuiltinShapes)
	maps.Copy(shapes, kit.CRDShapes)
	for name, key := range kit.FreeKeys {
		shapes["key with "+name] = kit.FreeKeyShape(key)
	}
	maps.Copy(shapes, map[string]kit.Shape{
		"finalizers": {
			Reason: "members of a set have no other value: they never conflict",
			Kind:   "ConfigMap",
			Theirs: `{metadata: {finalizers: [a.b/c]}}`,
			Ours:   `{metadata: {finalizers: [a.b/c, d.e/f]}}`,
		},
		"owner references": {
			Reason: "each is one field, by its uid",
			Kind:   "ConfigMap",
			Theirs: `{metadata: {ownerReferences: [{apiVersion: v1, kind: Pod, name: theirs, uid: u-1}]}}`,
			Ours:   `{metadata: {ownerReferences: [{apiVersion: v1, kind: Pod, name: ours, uid: u-1}, {apiVersion: v1, kind: Pod, name: mine, uid: u-2}]}}`,
		},
		"quantity": {
			Reason: "equal amounts in other texts conflict: the server compares before it normalises",
			Kind:   "Deployment",
			Theirs: `{spec: {template: {spec: {containers: [{name: web, resources: {limits: {cpu: "1"}}}]}}}}`,
			Ours:   `{spec: {template: {spec: {containers: [{name: web, resources: {limits: {cpu: 1000m}}}]}}}}`,
			Path:   kit.Web + ".resources.limits.cpu", Want: "1",
		},
		"null": {
			Reason: "is a value of its own",
			Kind:   "Deployment",
			Theirs: `{spec: {replicas: 3}}`,
			Ours:   `{spec: {replicas: null, paused: true}}`,
			Path:   ".spec.replicas", Want: int64(1),
		},
		"null map": {
			Reason: "is merged like an empty one: what stands in the map stays",
			Kind:   "ConfigMap",
			Theirs: `{data: {a: theirs}, metadata: {annotations: {a: theirs}}}`,
			Ours:   `{data: null, metadata: {annotations: null, labels: {a: ours}}}`,
		},
		"empty map": {
			Reason: "claims the map, and none of its fields",
			Kind:   "ConfigMap",
			Theirs: `{data: {a: theirs}}`,
			Ours:   `{data: {}, metadata: {labels: {a: ours}}}`,
		},
	})
	return shapes
}

// TestPredictEveryShape compares predictions with dry runs of the API server: of an
// intent on what others wrote, and of one that drops what was applied before.
func TestPredictEveryShape(t *testing.T) {
	t.Parallel()
	c := kit.ShapeClient(t)
	namespace := kit.NewNamespace(t, c)
	count := model.NewTally()
	t.Run("shapes", func(t *testing.T) {
		for name, form := range predictShapes() {
			for whose, write := range predictOwners {
				for what, text := range map[string]string{"other value": form.Theirs, "equal value": form.Ours, "dropped": ""} {
					t.Run(name+"/"+whose+"/"+what, func(t *testing.T) {
						t.Parallel()
						t.Log(form.Reason)
						s := kit.NewStage(t, c, namespace, form.Kind, form.Subresource)
						intent := form.Ours
						if text == "" {
							text, intent = form.Ours, minimal[form.Subresource]
							s.Apply("us", form.Ours)
						}
						write(s, text)
						try, err := newTrial(t.Context(), c, s.Live(), s.Object(intent), "us", s.Subresource)
						if apierrors.IsInvalid(err) {
							count.Add("refused")
							return
						}
						if err != nil {
							t.Fatal(err)
						}
						try.stored = map[string]any{form.Path: form.Want}
						if diff := try.difference(); diff != "" {
							t.Errorf("predicted:\n%v\n(-server +predicted):\n%s", try.predicted, diff)
						}
						if len(try.predicted.Unsure) > 0 && !openShapes[name] {
							t.Errorf("doubts: %v", try.predicted.Unsure)
						}
						prediction(count, try)
					})
				}
			}
		}
	})
	count.Report(t)
	count.AtLeast(t, 50, "conflicts", "shared", "dropped and gone", "dropped and kept")
}

// minimal is what remains of an intent that drops a field.
var minimal = map[string]string{"": `{metadata: {labels: {other: x}}}`, "status": `{}`}

// openShapes are those that managed fields do not always tell enough about.
var openShapes = map[string]bool{
	"atomic map":            true, // or one that was applied empty and has defaults
	"custom atomic map":     true,
	"map in an item":        true, // resources: {} of who created it
	"quantity":              true, // likewise
	"custom list in a list": true, // col has a default that only an applier who left it out shows
}

// TestPredictDroppedParent: a key of a map goes with all that an updater put below
// it, an object of the schema stays for it. Managed fields show who is which only
// where somebody applies it.
func TestPredictDroppedParent(t *testing.T) {
	c := kit.ShapeClient(t)
	namespace := kit.NewNamespace(t, c)
	for name, test := range map[string]struct {
		kind, ours, theirs, doubt, theirPath string
		goes                                 bool
	}{
		"key of a map": {"Shape", `{spec: {tree: {a: {x: ours}}}}`, `{spec: {tree: {a: {z: theirs}, b: {z: theirs}}}}`,
			".spec.tree.a", ".spec.tree.a.z", true},
		"field": {"Shape", `{spec: {parts: [{name: nut, color: red}], free: {x: ours}}}`, `{spec: {free: {z: theirs}}}`,
			"", ".spec.free.z", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := kit.NewStage(t, c, namespace, test.kind, "")
			s.Apply("us", test.ours)
			s.Update("other", test.theirs)
			try, err := newTrial(t.Context(), c, s.Live(), s.Object(minimal[""]), "us", "")
			if err != nil {
				t.Fatal(err)
			}
			if diff := try.difference(); diff != "" {
				t.Errorf("predicted:\n%v\n(-server +predicted):\n%s", try.predicted, diff)
			}
			doubt := ""
			for _, d := range try.predicted.Unsure {
				doubt += d.Path.String()
			}
			_, stays := fieldowners.MustParsePath(test.theirPath).Value(try.forced.Object)
			if doubt != test.doubt || stays == test.goes {
				t.Errorf("doubt %q, want %q; theirs stays: %v", doubt, test.doubt, stays)
			}
		})
	}
}
