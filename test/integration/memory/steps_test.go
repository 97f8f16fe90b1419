package memory

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"hash/fnv"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/test/kit/model"
)

// trace is a series of random requests about one object, on one server or two.
type trace struct {
	model.Dice

	kind      traceKind
	key       client.ObjectKey
	namespace string // in messages about objects of any scope
	sides     []*side
	count     *model.Tally
	said      []string    // the steps so far
	answers   hash.Hash64 // of the last server

	returnsObject bool // the answer to the step is the object as it is stored
}

// side is one server, and what a client knows of the object there.
type side struct {
	client.WithWatch

	past     []*unstructured.Unstructured // versions that were read, the latest last
	live     *unstructured.Unstructured   // nil: the object does not exist
	uids     map[string]string            // the names of uids in comparisons
	versions map[string]string            // the names of resourceVersions
}

func newSide(c client.WithWatch) *side {
	return &side{WithWatch: c, uids: map[string]string{}, versions: map[string]string{}}
}

func newTrace(dice model.Dice, kind traceKind, key client.ObjectKey, namespace string, count *model.Tally) *trace {
	return &trace{Dice: dice, kind: kind, key: key, namespace: namespace, count: count, answers: fnv.New64a()}
}

// request is a step: the same request for each server, with that server's uids and versions.
type request func(ctx context.Context, s *side) (*unstructured.Unstructured, error)

// run takes the steps and returns the first difference.
func (t *trace) run(ctx context.Context) string {
	start := make([]string, len(t.sides))
	for i, s := range t.sides {
		list := t.list()
		if err := s.List(ctx, list, t.ofTheObject(""), client.InNamespace(t.key.Namespace)); err != nil {
			return fmt.Sprint("listing: ", err)
		}
		start[i] = list.GetResourceVersion()
	}
	if found := t.steps(ctx); found != "" {
		return found + t.before()
	}
	if found := t.events(ctx, start); found != "" {
		return found + t.before()
	}
	return ""
}

// lastAnnotation is on the last version of an object.
const lastAnnotation = "trace.coapply.dev/last"

// events writes the object once more and compares the events of watches that began before the first step.
func (t *trace) events(ctx context.Context, start []string) string {
	answers, events := make([]string, len(t.sides)), make([]string, len(t.sides))
	for i, s := range t.sides {
		last := t.empty()
		var err error
		if s.live != nil {
			err = s.Patch(ctx, last, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+lastAnnotation+`":""}}}`)))
		} else {
			t.kind.fill(last.Object)
			last.SetAnnotations(map[string]string{lastAnnotation: ""})
			err = s.Create(ctx, last)
		}
		if answers[i] = s.answer(last, err); err == nil {
			events[i], err = t.watch(ctx, s, start[i])
		}
		if err != nil {
			events[i] = fmt.Sprint(err)
		}
	}
	if found := t.differ("the last write: the answers differ", answers); found != "" {
		return found
	}
	return t.differ("the events differ", events)
}

// watch returns the events of the object after a version, up to the last write, as JSON.
func (t *trace) watch(ctx context.Context, s *side, version string) (string, error) {
	watching, err := s.Watch(ctx, t.list(), t.ofTheObject(version), client.InNamespace(t.key.Namespace))
	if err != nil {
		return "", err
	}
	var events []string
	defer watching.Stop()
	for event := range watching.ResultChan() {
		object, ok := event.Object.(*unstructured.Unstructured)
		if !ok {
			return "", apierrors.FromObject(event.Object)
		}
		if said := fmt.Sprintf("{%q: %s}", event.Type, s.answer(object, nil)); len(events) == 0 || events[len(events)-1] != said { // see onlyReordered
			events = append(events, said)
		}
		if _, last := object.GetAnnotations()[lastAnnotation]; last {
			return "[" + strings.Join(events, ", ") + "]", nil
		}
	}
	return "", fmt.Errorf("the watch ended after %d events", len(events))
}

func (t *trace) list() *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(t.kind.GroupVersionKind)
	return list
}

func (t *trace) ofTheObject(version string) client.ListOption {
	return &client.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", t.key.Name), Raw: &metav1.ListOptions{ResourceVersion: version}}
}

// steps takes the steps and returns the first difference.
func (t *trace) steps(ctx context.Context) string {
	for step := range stepsOfATrace {
		name, request := t.next()
		t.said = append(t.said, name)
		answers, objects := make([]string, len(t.sides)), make([]*unstructured.Unstructured, len(t.sides))
		var last error
		for i, s := range t.sides {
			object, err := request(ctx, s)
			answers[i], last = s.answer(object, err), err
			if objects[i] = object; err != nil {
				objects[i] = nil
			}
		}
		verb, _, _ := strings.Cut(name, " ")
		t.count.Add(strings.TrimSuffix(verb, ",") + ": " + outcome(last))
		if found := t.differ(fmt.Sprintf("step %d, %s: the answers differ", step, name), answers); found != "" {
			return found
		}
		if found := t.read(ctx, step, name, answers, objects); found != "" {
			return found
		}
	}
	return ""
}

// read reads the object on both sides, unless the answer to the step was the object.
func (t *trace) read(ctx context.Context, step int, name string, answers []string, objects []*unstructured.Unstructured) string {
	for i, s := range t.sides {
		object := objects[i]
		if object == nil || !t.returnsObject || object.GetDeletionTimestamp() != nil {
			object = t.empty()
			err := s.Get(ctx, t.key, object)
			if err != nil && !apierrors.IsNotFound(err) {
				return fmt.Sprintf("step %d: reading: %v", step, err)
			}
			answers[i] = s.answer(object, err)
			if err != nil {
				s.live = nil
				continue
			}
		}
		s.live = object
		if n := len(s.past); n > 0 && s.versions[s.past[n-1].GetResourceVersion()] == s.versions[object.GetResourceVersion()] {
			s.past = s.past[:n-1]
		}
		s.past = append(s.past, object)
	}
	return t.differ(fmt.Sprintf("step %d, %s: the objects differ", step, name), answers)
}

func (t *trace) before() string { return "\nthe steps: " + strings.Join(t.said, "; ") }

func (t *trace) empty() *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(t.kind.GroupVersionKind)
	object.SetNamespace(t.key.Namespace)
	object.SetName(t.key.Name)
	return object
}

func outcome(err error) string {
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		return fmt.Sprint(status.Status().Code, " ", cmp.Or(string(status.Status().Reason), "no reason"))
	}
	return "done"
}

var versionIn = regexp.MustCompile(`((?:precondition|record|precondition:|meta:|ResourceVersion:)[ (]+)(\d+)`)

// addressIn finds the cluster IP of a Service in an error.
var addressIn = regexp.MustCompile(`\[\\?"10\.\d+\.\d+\.\d+\\?"\]`)

var timesIn = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)

// answer is what is compared of an answer, as JSON: an object or a Status, without times, and with names for uids and versions that say which are equal.
func (s *side) answer(object *unstructured.Unstructured, err error) string {
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		raw, _ := json.Marshal(status.Status())
		var said metav1.Status
		_ = json.Unmarshal([]byte(s.named(string(raw))), &said)
		if said.Details != nil && len(said.Details.Causes) > 1 { // validation by a schema finds errors in any order
			words := strings.FieldsFunc(said.Message, func(r rune) bool { return strings.ContainsRune(" ,[]", r) })
			slices.Sort(words)
			said.Message = strings.Join(words, " ")
			slices.SortFunc(said.Details.Causes, func(a, b metav1.StatusCause) int { return cmp.Compare(textOf(a), textOf(b)) })
		}
		return textOf(said)
	}
	if err != nil {
		return fmt.Sprint("error: ", err)
	}
	if s.live != nil && s.versions[object.GetResourceVersion()] == "" && onlyReordered(s.live, object) {
		s.versions[object.GetResourceVersion()] = s.versions[s.live.GetResourceVersion()]
	}
	object = object.DeepCopy()
	s.name("uid", s.uids, string(object.GetUID()))
	s.name("version", s.versions, object.GetResourceVersion())
	object.SetUID(types.UID(s.uids[string(object.GetUID())]))
	object.SetResourceVersion(s.versions[object.GetResourceVersion()])
	entries := object.GetManagedFields()
	for i := range entries {
		if entries[i].Time != nil {
			entries[i].Time = &metav1.Time{}
		}
	}
	slices.SortFunc(entries, func(a, b metav1.ManagedFieldsEntry) int { return cmp.Compare(textOf(a), textOf(b)) })
	object.SetManagedFields(entries)
	for _, field := range []string{"clusterIP", "clusterIPs"} {
		if _, has, _ := unstructured.NestedFieldNoCopy(object.Object, "spec", field); has && object.GetKind() == "Service" {
			_ = unstructured.SetNestedField(object.Object, "an address", "spec", field)
		}
	}
	if object.GetKind() == "Namespace" { // a kube-apiserver that adds one puts them in any order
		finalizers := object.GetFinalizers()
		slices.Sort(finalizers)
		object.SetFinalizers(finalizers)
	}
	return timesIn.ReplaceAllString(textOf(object.Object), "TIME")
}

// onlyReordered reports whether two versions of an object have the same entries of managed fields in another order, and are equal otherwise. The
// entries are sorted by second, so a write without a change gets a new resourceVersion if it gives the first of two entries of one second the
// time of the next second. Whether this happens on one server and not on the other is chance.
func onlyReordered(before, after *unstructured.Unstructured) bool {
	was, is := before.GetManagedFields(), after.GetManagedFields()
	if len(was) != len(is) || before.GetResourceVersion() == after.GetResourceVersion() {
		return false
	}
	texts := func(entries []metav1.ManagedFieldsEntry) (texts []string) {
		for _, entry := range entries {
			entry.Time = nil
			texts = append(texts, textOf(entry))
		}
		return texts
	}
	first, second := texts(was), texts(is)
	if slices.Equal(first, second) {
		return false
	}
	slices.Sort(first)
	slices.Sort(second)
	return slices.Equal(first, second) && reflect.DeepEqual(withoutVersion(before), withoutVersion(after))
}

// withoutVersion returns the content of an object without its resourceVersion and managed fields.
func withoutVersion(object *unstructured.Unstructured) map[string]any {
	object = object.DeepCopy()
	object.SetResourceVersion("")
	object.SetManagedFields(nil)
	return object.Object
}

func (s *side) name(what string, names map[string]string, value string) {
	if value != "" && names[value] == "" {
		different := map[string]bool{}
		for _, name := range names {
			different[name] = true
		}
		names[value] = fmt.Sprintf("%s-%d", what, len(different)+1)
	}
}

// named replaces times, addresses, uids and versions in a text.
func (s *side) named(text string) string {
	text = addressIn.ReplaceAllString(timesIn.ReplaceAllString(text, "TIME"), "an address")
	for uid, name := range s.uids {
		text = strings.ReplaceAll(text, uid, name)
	}
	return versionIn.ReplaceAllStringFunc(text, func(found string) string {
		parts := versionIn.FindStringSubmatch(found)
		return parts[1] + cmp.Or(s.versions[parts[2]], "an unknown version")
	})
}

// next draws the next step.
func (t *trace) next() (name string, _ request) {
	live := t.sides[0].live != nil
	if !live && t.Chance(0.6) {
		if t.Chance(0.5) {
			return t.create()
		}
		return t.apply()
	}
	switch n := t.IntN(100); {
	case n < 40:
		return t.apply()
	case n < 60:
		return t.update()
	case n < 75:
		return t.patch()
	case n < 80:
		return t.create()
	case n < 88 && t.kind.scale:
		return t.scale()
	case n < 95:
		return t.delete()
	}
	return t.finalizer()
}

var managers = []string{"a", "b", "c", "editor"}

// body draws a configuration of the kind, for a subresource.
func (t *trace) body(subresource string) map[string]any {
	tree := t.Config(t.kind.Shape, subresource)
	content, _ := tree.Build("").(map[string]any)
	if content == nil {
		content = map[string]any{}
	}
	return content
}

// complete makes a configuration of the object's name.
func (t *trace) complete(content map[string]any) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: content}
	object = object.DeepCopy()
	object.SetGroupVersionKind(t.kind.GroupVersionKind)
	object.SetNamespace(t.key.Namespace)
	object.SetName(t.key.Name)
	return object
}

// pin draws which uid and resourceVersion a request carries.
func (t *trace) pin() (name string, set func(*side, metav1.Object)) {
	uid, version := "", ""
	if t.Chance(0.15) {
		uid = model.Pick(t.Dice, []string{"current", "former", "other"})
	}
	if t.Chance(0.3) {
		version = model.Pick(t.Dice, []string{"current", "current", "former", "1", "0", "none"})
	}
	if uid == "" && version == "" {
		return "", func(*side, metav1.Object) {}
	}
	back := 1 + t.IntN(3)
	return fmt.Sprintf(" uid %q version %q", uid, version), func(s *side, object metav1.Object) {
		former := s.former(back)
		switch uid {
		case "current":
			object.SetUID(s.uid())
		case "former":
			object.SetUID(former.GetUID())
		case "other":
			object.SetUID("00000000-0000-4000-8000-000000000000")
		}
		switch version {
		case "current":
			object.SetResourceVersion(s.version())
		case "former":
			object.SetResourceVersion(former.GetResourceVersion())
		case "1", "0", "none":
			object.SetResourceVersion(version)
		}
	}
}

func (s *side) former(back int) *unstructured.Unstructured {
	if len(s.past) == 0 {
		return &unstructured.Unstructured{Object: map[string]any{}}
	}
	return s.past[max(0, len(s.past)-1-back)]
}

func (s *side) uid() types.UID {
	if s.live == nil {
		return ""
	}
	return s.live.GetUID()
}

func (s *side) version() string {
	if s.live == nil {
		return ""
	}
	return s.live.GetResourceVersion()
}

func (t *trace) dryRun() []string {
	t.returnsObject = !t.Chance(0.1)
	if t.returnsObject {
		return nil
	}
	return []string{metav1.DryRunAll}
}

func (t *trace) subresource() string {
	if t.kind.Shape.Fields["status"] != nil && t.Chance(0.25) {
		return "status"
	}
	return ""
}

func (t *trace) create() (string, request) {
	content, by, dry := t.body(""), model.Pick(t.Dice, managers), t.dryRun()
	t.kind.fill(content)
	return "create", func(ctx context.Context, s *side) (*unstructured.Unstructured, error) {
		object := t.complete(content)
		return object, s.Create(ctx, object, &client.CreateOptions{FieldManager: by, DryRun: dry})
	}
}

func (t *trace) apply() (string, request) {
	subresource, by, force, dry := t.subresource(), model.Pick(t.Dice, managers), t.Chance(0.4), t.dryRun()
	content := t.body(subresource)
	if t.Chance(0.5) && subresource == "" {
		t.kind.fill(content)
	}
	if t.Chance(0.05) {
		content["odd"] = "field"
	}
	pinned, pin := t.pin()
	return fmt.Sprintf("apply %s by %s, force %v%s", subresource, by, force, pinned), func(ctx context.Context, s *side) (*unstructured.Unstructured, error) {
		object := t.complete(content)
		pin(s, object)
		config := client.ApplyConfigurationFromUnstructured(object)
		options := client.ApplyOptions{FieldManager: by, Force: &force, DryRun: dry}
		if subresource == "" {
			return object, s.Apply(ctx, config, &options)
		}
		return object, s.SubResource(subresource).Apply(ctx, config, &client.SubResourceApplyOptions{ApplyOptions: options})
	}
}

// update writes the live object back, with some fields changed.
func (t *trace) update() (string, request) {
	subresource, by, dry, whole := t.subresource(), model.Pick(t.Dice, managers), t.dryRun(), t.Chance(0.3)
	content, wipe := t.body(subresource), t.Chance(0.05)
	stale, back, aged := t.Chance(0.1), 1+t.IntN(2), t.Chance(0.2)
	pinned, pin := t.pin()
	return fmt.Sprintf("update %s by %s%s", subresource, by, pinned), func(ctx context.Context, s *side) (*unstructured.Unstructured, error) {
		object := t.complete(content)
		if s.live != nil {
			from := s.live
			if stale {
				from = s.former(back)
			}
			object = from.DeepCopy()
			merge(object.Object, content, whole)
		}
		if aged { // so that the next write has another time, even within the same second
			entries := object.GetManagedFields()
			for i := range entries {
				entries[i].Time = new(metav1.Date(2020, 1, 2, 3, 4, i, 0, time.UTC)) // entries are sorted by time
			}
			object.SetManagedFields(entries)
		}
		if wipe {
			object.SetManagedFields([]metav1.ManagedFieldsEntry{{}})
		}
		pin(s, object)
		options := client.UpdateOptions{FieldManager: by, DryRun: dry}
		if subresource == "" {
			return object, s.Update(ctx, object, &options)
		}
		return object, s.SubResource(subresource).Update(ctx, object, &client.SubResourceUpdateOptions{UpdateOptions: options})
	}
}

// merge lays values over an object. whole replaces each top-level field.
func merge(object, values map[string]any, whole bool) {
	for name, value := range values {
		inner, isMap := value.(map[string]any)
		before, wasMap := object[name].(map[string]any)
		if isMap && wasMap && (!whole || name == "metadata") {
			merge(before, inner, whole)
			continue
		}
		object[name] = value
	}
}

func (t *trace) patch() (string, request) {
	subresource, by, dry := t.subresource(), model.Pick(t.Dice, managers), t.dryRun()
	content := t.body(subresource)
	kind := types.MergePatchType
	body, _ := json.Marshal(content)
	if t.Chance(0.4) {
		kind = types.JSONPatchType
		body = []byte(model.Pick(t.Dice, []string{
			`[{"op":"add","path":"/metadata/annotations","value":{"x":"1"}}]`,
			`[{"op":"remove","path":"/metadata/annotations"}]`,
			`[{"op":"test","path":"/metadata/annotations/x","value":"1"},{"op":"remove","path":"/metadata/annotations/x"}]`,
			`[{"op":"replace","path":"/metadata/labels","value":{"app":"one"}}]`,
			`[{"op":"add","path":"/metadata/managedFields","value":[{}]}]`,
			`[{"op":"replace","path":"/spec/nothing/below","value":1}]`,
			`{"op":"add"}`,
		}))
	} else if t.Chance(0.2) {
		body = []byte(model.Pick(t.Dice, []string{
			`{"metadata":{"annotations":null}}`, `{"metadata":{"labels":null}}`, `{"metadata":{"resourceVersion":"1"}}`,
			`{"metadata":{"name":"other"}}`, `{"metadata":{"uid":"x"}}`, `{"spec":null}`, `{"metadata":{"finalizers":["x"]}}`, `[]`, `{`,
		}))
	}
	return fmt.Sprintf("patch %s by %s with %s", subresource, by, body), func(ctx context.Context, s *side) (*unstructured.Unstructured, error) {
		object := t.empty()
		options := client.PatchOptions{FieldManager: by, DryRun: dry}
		if subresource == "" {
			return object, s.Patch(ctx, object, client.RawPatch(kind, body), &options)
		}
		return object, s.SubResource(subresource).Patch(ctx, object, client.RawPatch(kind, body), &client.SubResourcePatchOptions{PatchOptions: options})
	}
}

func (t *trace) scale() (string, request) {
	t.returnsObject = false
	by, replicas, verb := model.Pick(t.Dice, managers), int64(t.IntN(5)-1), t.IntN(3)
	return fmt.Sprintf("scale %d by %s to %d", verb, by, replicas), func(ctx context.Context, s *side) (*unstructured.Unstructured, error) {
		scale := &unstructured.Unstructured{}
		scale.SetGroupVersionKind(schema.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"})
		if err := s.SubResource("scale").Get(ctx, t.empty(), scale); err != nil || verb == 0 {
			return scale, err
		}
		scale.Object["spec"] = map[string]any{"replicas": replicas}
		if verb == 1 {
			return scale, s.SubResource("scale").Update(ctx, t.empty(), client.WithSubResourceBody(scale), client.FieldOwner(by))
		}
		body := fmt.Sprintf(`{"spec":{"replicas":%d}}`, replicas)
		return scale, s.SubResource("scale").Patch(ctx, t.empty(), client.RawPatch(types.MergePatchType, []byte(body)), client.WithSubResourceBody(scale), client.FieldOwner(by))
	}
}

func (t *trace) delete() (string, request) {
	uid, version, dry := t.IntN(4), t.IntN(4), t.dryRun()
	policy := model.Pick(t.Dice, []metav1.DeletionPropagation{"", "", metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan})
	t.returnsObject = false
	return fmt.Sprintf("delete, uid %d, version %d, %s", uid, version, policy), func(ctx context.Context, s *side) (*unstructured.Unstructured, error) {
		options := &client.DeleteOptions{DryRun: dry, Preconditions: &metav1.Preconditions{}}
		if policy != "" {
			options.PropagationPolicy = &policy
		}
		switch uid {
		case 1:
			options.Preconditions.UID = new(s.uid())
		case 2:
			options.Preconditions.UID = new(types.UID("other"))
		}
		switch version {
		case 1:
			options.Preconditions.ResourceVersion = new(s.version())
		case 2:
			options.Preconditions.ResourceVersion = new(s.former(1).GetResourceVersion())
		}
		return t.empty(), s.Delete(ctx, t.empty(), options)
	}
}

// finalizer adds or removes a finalizer.
func (t *trace) finalizer() (string, request) {
	t.returnsObject = true
	name := model.Pick(t.Dice, []string{"example.com/a", "example.com/b", "", "odd", metav1.FinalizerOrphanDependents})
	return fmt.Sprintf("finalizer %q", name), func(ctx context.Context, s *side) (*unstructured.Unstructured, error) {
		object := t.empty()
		if s.live != nil {
			object = s.live.DeepCopy()
		}
		object.SetFinalizers(nil)
		if name != "" {
			object.SetFinalizers([]string{name})
		}
		return object, s.Update(ctx, object, client.FieldOwner("finalizers"))
	}
}
