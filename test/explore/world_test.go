package explore

import (
	"context"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/fieldowners"
)

// World is a few writers of one object.
type World struct {
	Name    string
	Before  func(ctx context.Context, c client.Client) error // creates what exists before the first step
	Actors  []Actor
	Lag     int      // how many events a cache may be behind
	Faults  bool     // a schedule may have one fault
	Fights  bool     // two actors may take a field from each other for ever
	Objects []string // "web", a Widget, and "shop", a ConfigMap; default: "web"
	// After checks the objects when all actors have ended, and have seen all events. The function at returns an object, or
	// nil if it does not exist.
	After func(at func(name string) *unstructured.Unstructured) error
}

// Actor is one writer.
type Actor struct {
	Name    string // a letter
	Process string // actors of one process share its Runtime
	// Do is called when the actor begins, and again after a crash of its process. When all actors have ended, Do is
	// called again and again, as a reconciler would be, until it sends no request.
	Do func(ctx context.Context, self *Self) error
	// Polls means that the actor reads in each call of Do. At rest, these reads are allowed.
	Polls bool
	// TakesFrom is the field manager whose fields the actor may all take, without changing values.
	TakesFrom string
	// Changes are the fields that the actor may take from other managers without a policy.
	Changes []string
	// Applies reports whether the actor may apply to an object, or create it if the argument is nil. A nil function
	// permits all.
	Applies func(object *unstructured.Unstructured) bool
	// Deletes reports whether the actor may delete an object. The parents are the versions that "shop" has had since the
	// actor called Self.Begin; nil stands for none. A nil function permits all.
	Deletes func(object *unstructured.Unstructured, parents []*unstructured.Unstructured) bool
	// Once means that Do is not called again at the end.
	Once bool
}

// Self is the actor in a call of its Do.
type Self struct {
	*Process

	actor *actor
}

// objects are the names of the objects of a World.
func (w *World) objects() []string {
	if len(w.Objects) == 0 {
		return []string{"web"}
	}
	return w.Objects
}

var (
	widgetKind = schema.GroupVersionKind{Group: "explore.example.com", Version: "v1", Kind: "Widget"}
	shopKind   = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
)

// creation replaces the creation time in a state.
var creation = metav1.Time{}

func newObject(namespace, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(widgetKind)
	if name == "shop" {
		o.SetGroupVersionKind(shopKind)
	}
	o.SetNamespace(namespace)
	o.SetName(name)
	return o
}

// widgets is the CRD of the kind Widget. It is small, as each process reads its schema.
func widgets() *apiextensionsv1.CustomResourceDefinition {
	text, number := apiextensionsv1.JSONSchemaProps{Type: "string"}, apiextensionsv1.JSONSchemaProps{Type: "integer"}
	object := func(fields map[string]apiextensionsv1.JSONSchemaProps) apiextensionsv1.JSONSchemaProps {
		return apiextensionsv1.JSONSchemaProps{Type: "object", Properties: fields}
	}
	root := object(map[string]apiextensionsv1.JSONSchemaProps{
		"spec":   object(map[string]apiextensionsv1.JSONSchemaProps{"replicas": number, "color": text, "size": text}),
		"status": object(map[string]apiextensionsv1.JSONSchemaProps{"replicas": number, "ready": text, "seen": text}),
	})
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "widgets." + widgetKind.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: widgetKind.Group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "widgets", Singular: "widget", Kind: widgetKind.Kind, ListKind: "WidgetList"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: widgetKind.Version, Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &root},
				Subresources: &apiextensionsv1.CustomResourceSubresources{
					Status: &apiextensionsv1.CustomResourceSubresourceStatus{},
					Scale:  &apiextensionsv1.CustomResourceSubresourceScale{SpecReplicasPath: ".spec.replicas", StatusReplicasPath: ".status.replicas"},
				},
			}},
		},
	}
}

// outsider is a client of another program. Its requests do not stop.
func (r *run) outsider() client.Client {
	return client.NewNamespacedClient(r.server, r.namespace)
}

// Client is a client of the process without coapply, for foreign writers. Its requests stop.
func (s *Self) Client() client.Client { return s.Manager.GetClient() }

// Widget is the object with some fields of its spec.
func (s *Self) Widget(fields map[string]any) *unstructured.Unstructured {
	object := newObject(s.actor.run.namespace, "web")
	if fields != nil {
		object.Object["spec"] = fields
	}
	return object
}

// Applier returns the actor's Applier. There is one for each process.
func (s *Self) Applier(manager string, policy apply.Policy) (*apply.Applier, error) {
	if made := s.appliers[s.actor.Name]; made != nil {
		return made, nil
	}
	applier, err := s.Runtime.Applier(manager, policy.Func(s.actor.judge))
	s.appliers[s.actor.Name] = applier
	return applier, err
}

// Begin notes that the actor begins a reconcile.
func (s *Self) Begin() { s.actor.began = len(s.actor.run.events) }

// Pause stops the actor until the explorer chooses it, as a reconciler that waits for an event.
func (s *Self) Pause(ctx context.Context) error {
	if s.actor.run.settled {
		return nil
	}
	_, err := s.actor.run.stop(ctx, s.actor, &request{text: "pauses"})
	s.actor.saw = append(s.actor.saw, "paused")
	return err
}

// Apply applies some fields of the spec, and checks the outcome.
func (s *Self) Apply(ctx context.Context, manager string, policy apply.Policy, fields map[string]any, change ...func(*apply.Intent)) error {
	applier, err := s.Applier(manager, policy)
	if err != nil {
		return err
	}
	intent := apply.Intent{Config: client.ApplyConfigurationFromUnstructured(s.Widget(fields))}
	for _, with := range change {
		with(&intent)
	}
	s.actor.judged = nil
	began := len(s.actor.run.events)
	outcome, err := applier.Apply(ctx, intent)
	if err != nil {
		return err
	}
	s.actor.saw = append(s.actor.saw, fmt.Sprintf("outcome: %s %d conflicts", outcome.Action, len(outcome.Conflicts)))
	if err := s.checkOutcome(manager, fields, began, outcome); err != nil {
		s.actor.run.fail(err)
	}
	return nil
}

// Acknowledge checks an object that a successful apply of the drop-in client has returned, and records the write.
func (s *Self) Acknowledge(manager string, fields map[string]any, object *unstructured.Unstructured) {
	ref := apply.ObjectRef{UID: object.GetUID(), ResourceVersion: object.GetResourceVersion()}
	if err := s.checkOutcome(manager, fields, 0, apply.Outcome{Action: apply.Unchanged, Object: ref}); err != nil {
		s.actor.run.fail(err)
	}
}

// Wrote notes that the process has written the object, or deleted it.
func (s *Self) Wrote() { s.acknowledged = len(s.actor.run.events) - 1 }

// judgement is a conflict on which a policy has decided.
type judgement struct {
	version string // the resourceVersion that was read
	path    fieldowners.Path
	manager fieldowners.Manager
}

// judge records what the policy decides on. It makes no decision itself.
func (a *actor) judge(c apply.Conflict) (apply.Decision, bool) {
	a.judged = append(a.judged, judgement{c.Object.ResourceVersion, c.Path, c.Manager})
	return apply.Reject, false
}
