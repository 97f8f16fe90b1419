package integration

import (
	"maps"
	"testing"

	"coapply.dev/fieldowners"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// predictOwners are the ways in which others own what we want too.
var predictOwners = map[string]func(s *stage, text string){
	"nobody":      func(*stage, string) {},
	"applier":     func(s *stage, text string) { s.apply("other", text) },
	"updater":     func(s *stage, text string) { s.update("other", text) },
	"both":        func(s *stage, text string) { s.update("other", text); s.apply("second", text) },
	"our updates": func(s *stage, text string) { s.update("us", text) },
}

// predictShapes are those of the decisions, and some more.
func predictShapes() map[string]shape {
	shapes := maps.Clone(builtinShapes)
	maps.Copy(shapes, crdShapes)
	for name, key := range freeKeys {
		shapes["key with "+name] = freeKeyShape(key)
	}
	maps.Copy(shapes, map[string]shape{
		"finalizers": {
			reason: "members of a set have no other value: they never conflict",
			kind:   "ConfigMap",
			theirs: `{metadata: {finalizers: [a.b/c]}}`,
			ours:   `{metadata: {finalizers: [a.b/c, d.e/f]}}`,
		},
		"owner references": {
			reason: "each is one field, by its uid",
			kind:   "ConfigMap",
			theirs: `{metadata: {ownerReferences: [{apiVersion: v1, kind: Pod, name: theirs, uid: u-1}]}}`,
			ours:   `{metadata: {ownerReferences: [{apiVersion: v1, kind: Pod, name: ours, uid: u-1}, {apiVersion: v1, kind: Pod, name: mine, uid: u-2}]}}`,
		},
		"quantity": {
			reason: "equal amounts in other texts conflict: the server compares before it normalises",
			kind:   "Deployment",
			theirs: `{spec: {template: {spec: {containers: [{name: web, resources: {limits: {cpu: "1"}}}]}}}}`,
			ours:   `{spec: {template: {spec: {containers: [{name: web, resources: {limits: {cpu: 1000m}}}]}}}}`,
			path:   web + ".resources.limits.cpu", want: "1",
		},
		"null": {
			reason: "is a value of its own",
			kind:   "Deployment",
			theirs: `{spec: {replicas: 3}}`,
			ours:   `{spec: {replicas: null, paused: true}}`,
			path:   ".spec.replicas", want: int64(1),
		},
		"null map": {
			reason: "is merged like an empty one: what stands in the map stays",
			kind:   "ConfigMap",
			theirs: `{data: {a: theirs}, metadata: {annotations: {a: theirs}}}`,
			ours:   `{data: null, metadata: {annotations: null, labels: {a: ours}}}`,
		},
		"empty map": {
			reason: "claims the map, and none of its fields",
			kind:   "ConfigMap",
			theirs: `{data: {a: theirs}}`,
			ours:   `{data: {}, metadata: {labels: {a: ours}}}`,
		},
	})
	return shapes
}

// TestPredictEveryShape compares predictions with dry runs of the API server: of an
// intent on what others wrote, and of one that drops what was applied before.
func TestPredictEveryShape(t *testing.T) {
	c := shapeClient(t)
	namespace := newNamespace(t, c)
	count := newTally()
	t.Run("shapes", func(t *testing.T) {
		for name, form := range predictShapes() {
			for whose, write := range predictOwners {
				for what, text := range map[string]string{"other value": form.theirs, "equal value": form.ours, "dropped": ""} {
					t.Run(name+"/"+whose+"/"+what, func(t *testing.T) {
						t.Parallel()
						t.Log(form.reason)
						s := newStage(t, c, namespace, form.kind, form.subresource)
						intent := form.ours
						if text == "" {
							text, intent = form.ours, minimal[form.subresource]
							s.apply("us", form.ours)
						}
						write(s, text)
						try, err := newTrial(t.Context(), c, s.live(), s.object(intent), "us", s.subresource)
						if apierrors.IsInvalid(err) {
							count.add("refused")
							return
						}
						if err != nil {
							t.Fatal(err)
						}
						try.stored = map[string]any{form.path: form.want}
						if diff := try.difference(); diff != "" {
							t.Errorf("predicted:\n%v\n(-server +predicted):\n%s", try.predicted, diff)
						}
						if len(try.predicted.Unsure) > 0 && !openShapes[name] {
							t.Errorf("doubts: %v", try.predicted.Unsure)
						}
						count.prediction(try)
					})
				}
			}
		}
	})
	count.report(t)
	count.atLeast(t, 50, "conflicts", "shared", "dropped and gone", "dropped and kept")
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
	c := shapeClient(t)
	namespace := newNamespace(t, c)
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
			s := newStage(t, c, namespace, test.kind, "")
			s.apply("us", test.ours)
			s.update("other", test.theirs)
			try, err := newTrial(t.Context(), c, s.live(), s.object(minimal[""]), "us", "")
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
