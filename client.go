package coapply

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/fieldowners"
)

// Client returns the client of the controller-runtime manager with a replaced Apply method, for
// objects and for their subresources. A Patch of type apply, such as one with client.Apply, is
// handled as an Apply. All other methods are those of the manager's client. Each write uses
// fieldManager as its field manager, unless a client.FieldOwner names another one.
//
// Apply is serialised with the other writes of the process to the object, sends no request if
// nothing would change, and decides ownership conflicts by the policy. In all other respects Apply
// behaves like client.Apply:
//
//   - The configuration holds the object afterwards. If no request was sent, this is the cached
//     object, without the fields that the cache's transforms remove.
//   - client.ForceOwnership takes contested fields, whatever the policy decides.
//   - client.FieldOwner applies under another field manager, with this policy.
//   - client.DryRunAll changes nothing, and returns what Apply would return.
//   - Errors are those of package apply. errors.As finds the API server's response in them, so
//     functions such as apierrors.IsConflict work. NotFound means that a live read found no object.
//     A 404 for another reason, such as a missing subresource, is a RefusedError.
//
// The API server accepts some configurations that an Applier rejects. These are a configuration
// with a resourceVersion, an object that sets a status, and a configuration of the status
// subresource without a status. The Client sends these configurations unchanged and serialised. The
// policy is not used for them, and their conflicts contain no values. A Patch of type apply is also
// sent unchanged if it has an option that Apply lacks, such as FieldValidation, or if its content
// names another object than the object to patch.
//
// After each write by this Client, the cached object may be out of date. Until the cache shows the
// write, every apply to the object is sent.
//
// If the policy or the field manager is invalid, each Apply returns an error.
func (rt *Runtime) Client(fieldManager string, policy apply.Policy) client.Client {
	return &applyingClient{
		Client: client.WithFieldOwner(rt.writes(), fieldManager), rt: rt,
		fieldManager: fieldManager, policy: policy, writers: map[writerKey]writer{},
	}
}

type applyingClient struct {
	client.Client

	rt           *Runtime
	fieldManager string
	policy       apply.Policy

	mu      sync.Mutex
	writers map[writerKey]writer
}

func (c *applyingClient) Apply(ctx context.Context, config runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	options := (&client.ApplyOptions{}).ApplyOptions(opts)
	return c.apply(ctx, apply.Intent{Config: config}, *options)
}

func (c *applyingClient) Status() client.SubResourceWriter { return c.SubResource("status") }

func (c *applyingClient) SubResource(name string) client.SubResourceClient {
	return &applyingSubResource{SubResourceClient: c.Client.SubResource(name), client: c, name: name}
}

type applyingSubResource struct {
	client.SubResourceClient

	client *applyingClient
	name   string
}

func (s *applyingSubResource) Apply(ctx context.Context, config runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption) error {
	options := (&client.SubResourceApplyOptions{}).ApplyOpts(opts)
	return s.client.apply(ctx, apply.Intent{Config: config, Subresource: s.name, Body: options.SubResourceBody}, options.ApplyOptions)
}

// apply implements Apply of the Client, for objects and for subresources.
func (c *applyingClient) apply(ctx context.Context, intent apply.Intent, options client.ApplyOptions) error {
	options.FieldManager = cmp.Or(options.FieldManager, c.fieldManager)
	applier, err := c.writer(writerKey{options.FieldManager, options.Force != nil && *options.Force})
	if err != nil {
		return fmt.Errorf("coapply: creating an Applier for the field manager %q: %w", options.FieldManager, err)
	}
	e := &exchange{with: client.ApplyOptions{DisableReadYourWritesConsistency: options.DisableReadYourWritesConsistency}}
	ctx = context.WithValue(ctx, exchangeKey{}, e)
	switch {
	case len(options.DryRun) > 0:
		return c.dryRun(ctx, applier, intent, options)
	case setsStatus(intent):
		return c.send(ctx, intent, options)
	}
	outcome, err := applier.Apply(ctx, intent)
	switch {
	case errors.Is(err, apply.ErrInvalidIntent): // the API server may accept the configuration, or returns the error
		return c.send(ctx, intent, options)
	case err != nil:
		return e.explain(err)
	case outcome.Action == apply.Absent:
		return absent(outcome.Object, e.err)
	}
	return e.writeTo(intent.Config)
}

// absent returns the error for an apply to a subresource of an object that does not exist. The
// error wraps answer if answer is a NotFound of the API server, and otherwise a new NotFound.
func absent(object apply.ObjectRef, answer error) error {
	if !apierrors.IsNotFound(answer) {
		answer = apierrors.NewNotFound(schema.GroupResource{Group: object.Group, Resource: object.Kind}, object.Name)
	}
	return &apply.RefusedError{Object: object, Err: answer}
}

// dryRun sends an apply with client.DryRunAll. If the API server returns an ownership conflict,
// dryRun calls Applier.Plan, which decides the conflict by the policy and sends further dry runs.
func (c *applyingClient) dryRun(ctx context.Context, applier *apply.Applier, intent apply.Intent, options client.ApplyOptions) error {
	refused := c.send(ctx, intent, options)
	if !apply.IsOwnershipConflict(refused) {
		return refused
	}
	plan, err := applier.Plan(ctx, intent)
	switch {
	case err != nil:
		return refused
	case plan.Refused != nil:
		return plan.Refused
	}
	return exchangeOf(ctx).writeTo(intent.Config)
}

// writerKey identifies an Applier of the Client. Each field manager has two Appliers: one with the
// Client's policy and, for client.ForceOwnership, one that forces all conflicts.
type writerKey struct {
	fieldManager string
	force        bool
}

type writer struct {
	applier *apply.Applier
	err     error
}

// writer returns the Applier for a key. The first call with the key creates the Applier.
func (c *applyingClient) writer(key writerKey) (*apply.Applier, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w, known := c.writers[key]
	if !known {
		policy := c.policy
		if key.force {
			policy = apply.OnConflict(apply.Force)
		}
		config := c.rt.ApplierConfig(key.fieldManager, policy)
		config.Metrics = sentOnly{config.Metrics}
		w.applier, w.err = c.rt.applier(config)
		c.writers[key] = w
	}
	return w.applier, w.err
}

// send sends a configuration unchanged to the API server, without an Applier. Unless it is a dry
// run, the request is serialised with the other writes of the process to the object.
func (c *applyingClient) send(ctx context.Context, intent apply.Intent, options client.ApplyOptions) error {
	object := objectOf(intent.Config)
	if len(options.DryRun) > 0 {
		return c.request(ctx, intent, object, options)
	}
	start := time.Now()
	inside, leave, err := c.rt.lanes.Enter(ctx, object.Key())
	if err != nil {
		return err
	}
	defer leave()
	waited := time.Since(start)
	err = c.request(inside, intent, object, options)
	result := string(apply.Configured) // whether anything changed is not determined
	if err != nil {
		result = apply.ResultOf(err)
	}
	c.rt.metrics.ObserveApply(apply.ApplyObservation{
		FieldManager: options.FieldManager, Kind: object.GroupVersionKind, Object: objectOf(intent.Config),
		Result: result, Requests: 1, Attempts: 1, Duration: time.Since(start), Waited: waited,
	})
	return err
}

func (c *applyingClient) request(ctx context.Context, intent apply.Intent, object apply.ObjectRef, options client.ApplyOptions) (err error) {
	s := sender{Client: c.Client, rt: c.rt}
	if intent.Subresource == "" {
		err = s.Apply(ctx, intent.Config, &options)
	} else {
		err = s.SubResource(intent.Subresource).Apply(ctx, intent.Config,
			&client.SubResourceApplyOptions{ApplyOptions: options, SubResourceBody: intent.Body})
	}
	if !apply.IsOwnershipConflict(err) {
		return apply.Classify(ctx, object, err)
	}
	return &apply.ConflictError{
		Object: object, Subresource: intent.Subresource, FieldManager: options.FieldManager, Conflicts: conflictsIn(err, object), Err: err,
	}
}

// conflictsIn returns the ownership conflicts in the API server's response to an apply. Each
// Conflict has the field and the owner that the response names, and no values.
func conflictsIn(err error, object apply.ObjectRef) []apply.Conflict {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return nil
	}
	var conflicts []apply.Conflict
	for _, cause := range status.Status().Details.Causes {
		if manager, err := fieldowners.ParseCause(cause.Message); err == nil && cause.Type == metav1.CauseTypeFieldManagerConflict {
			conflicts = append(conflicts, apply.Conflict{Object: object, Manager: manager, ServerPath: cause.Field})
		}
	}
	return conflicts
}

// objectOf returns the kind, namespace, name, uid and resourceVersion in an apply configuration. A
// part that the configuration does not set is empty.
func objectOf(config runtime.ApplyConfiguration) apply.ObjectRef {
	var object metav1.PartialObjectMetadata
	var content any = config
	if unstructured, ok := config.(unstructuredConfig); ok {
		content = unstructured.UnstructuredContent()
	}
	if raw, err := json.Marshal(content); err == nil {
		_ = json.Unmarshal(raw, &object) // the API server refuses a malformed configuration
	}
	return apply.ObjectRef{
		GroupVersionKind: object.GroupVersionKind(), NamespacedName: client.ObjectKeyFromObject(&object),
		UID: object.UID, ResourceVersion: object.ResourceVersion,
	}
}

// setsStatus reports whether an intent sets a status without naming a subresource. If the kind has
// a status subresource, the API server drops this status, and an Applier would return an error.
func setsStatus(intent apply.Intent) bool {
	if intent.Subresource != "" {
		return false
	}
	if content, ok := intent.Config.(unstructuredConfig); ok {
		return content.UnstructuredContent()["status"] != nil
	}
	config := reflect.ValueOf(intent.Config)
	if config.Kind() != reflect.Pointer || config.IsNil() || config.Elem().Kind() != reflect.Struct {
		return false
	}
	status := config.Elem().FieldByName("Status")
	return status.IsValid() && !status.IsZero()
}

// sentOnly is an apply.Metrics that does not observe an intent that an Applier rejected as invalid.
// The Client then sends the intent unchanged, and observes that request instead.
type sentOnly struct{ apply.Metrics }

func (m sentOnly) ObserveApply(o apply.ApplyObservation) {
	if o.Result != apply.ResultOf(apply.ErrInvalidIntent) {
		m.Metrics.ObserveApply(o)
	}
}
