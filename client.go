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
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/fieldowners"
)

// Client returns a client.Client that wraps the manager's client and replaces the method Apply, for objects and for
// their subresources. A Patch of the type apply, such as the patch client.Apply, is handled like an Apply. All writes
// use the given field manager, unless client.FieldOwner names another one.
//
// Apply sends no request if nothing would change. It decides ownership conflicts by the policy. Its requests are
// serialised with the other writes of the process to the object. Otherwise Apply behaves like the method Apply of the
// manager's client:
//
//   - After Apply, the apply configuration contains the object. If no request was sent, this is the cached object,
//     without the fields that the cache's transforms remove.
//   - client.ForceOwnership takes all fields in conflict, whatever the policy decides.
//   - client.FieldOwner applies under another field manager, with the same policy.
//   - client.DryRunAll changes nothing, and returns what Apply would return.
//   - Errors are those of package apply. They wrap the API server's response, so functions such as apierrors.IsConflict
//     work. A NotFound means that a live read did not find the object. A 404 for another reason, such as a missing
//     subresource, is a RefusedError that does not wrap a NotFound.
//
// The API server accepts some apply configurations that package apply rejects:
//
//   - a configuration with a resourceVersion;
//   - a configuration for the object itself that sets a status;
//   - a configuration for the status subresource without a status.
//
// The Client sends such a configuration unchanged, serialised with other writes, and without the policy. A
// ConflictError then contains no values. A Patch of type apply is also sent unchanged if it has an option that Apply
// lacks, such as FieldValidation, or if its content is for an object other than the patched object.
//
// After a write by this Client, the cached object may be out of date. Until the cache shows the write, every apply to
// the object is sent.
//
// If the policy or the field manager is invalid, each Apply returns an error.
func (rt *Runtime) Client(fieldManager string, policy apply.Policy) client.Client {
	return &applyingClient{
		Client: client.WithFieldOwner(rt.writes(), fieldManager), rt: rt,
		fieldManager: fieldManager, policy: policy, appliers: map[applierKey]*apply.Applier{},
	}
}

type applyingClient struct {
	client.Client

	rt           *Runtime
	fieldManager string
	policy       apply.Policy

	mu       sync.Mutex
	appliers map[applierKey]*apply.Applier
}

// applierKey identifies an Applier of the Client. There are up to two for each field manager: one with the Client's
// policy, and one that forces all conflicts, for calls with client.ForceOwnership.
type applierKey struct {
	fieldManager string
	force        bool
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

func (c *applyingClient) apply(ctx context.Context, intent apply.Intent, options client.ApplyOptions) error {
	options.FieldManager = cmp.Or(options.FieldManager, c.fieldManager)
	applier, err := c.applier(applierKey{options.FieldManager, ptr.Deref(options.Force, false)})
	if err != nil {
		return err
	}
	e := &exchange{with: client.ApplyOptions{DisableReadYourWritesConsistency: options.DisableReadYourWritesConsistency}}
	ctx = context.WithValue(ctx, exchangeKey{}, e)
	switch {
	case len(options.DryRun) > 0:
		return c.dryRun(ctx, applier, intent, options)
	case intent.Subresource == "" && setsStatus(intent.Config):
		return c.send(ctx, intent, options)
	}
	outcome, err := applier.Apply(ctx, intent)
	switch {
	case errors.Is(err, apply.ErrInvalidIntent): // the API server may accept the configuration; if not, its error is returned
		return c.send(ctx, intent, options)
	case err != nil:
		return e.explain(err)
	case outcome.Action == apply.Absent:
		return absent(outcome.Object, e.err)
	}
	return e.writeTo(intent.Config)
}

// absent returns the error for an apply to a subresource of an object that does not exist. The error wraps the API
// server's answer if the answer is a NotFound. Otherwise it wraps a new NotFound.
func absent(object apply.ObjectRef, answer error) error {
	if !apierrors.IsNotFound(answer) {
		answer = apierrors.NewNotFound(schema.GroupResource{Group: object.Group, Resource: object.Kind}, object.Name)
	}
	return &apply.RefusedError{Object: object, Err: answer}
}

// dryRun implements Apply with client.DryRunAll. It sends the configuration as a dry run. If the API server responds
// with an ownership conflict, dryRun calls Applier.Plan, which lets the policy decide the conflict and sends further dry
// runs.
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

func (c *applyingClient) applier(key applierKey) (*apply.Applier, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if applier, known := c.appliers[key]; known {
		return applier, nil
	}
	policy := c.policy
	if key.force {
		policy = apply.OnConflict(apply.Force)
	}
	config := c.rt.ApplierConfig(key.fieldManager, policy)
	config.Metrics = sentOnly{config.Metrics}
	applier, err := c.rt.applier(config)
	if err != nil {
		return nil, fmt.Errorf("coapply: creating an Applier for the field manager %q: %w", key.fieldManager, err)
	}
	c.appliers[key] = applier
	return applier, nil
}

// send sends an apply configuration unchanged to the API server, without an Applier. Unless it is a dry run, the
// request is serialised with the other writes of the process to the object.
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
	result := string(apply.Configured) // also if nothing changed, which is not checked
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

// conflictsIn returns the ownership conflicts in an error of the API server for an apply. Each Conflict contains the
// field and its other owner, as the response names them, and no values.
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

// objectOf returns a reference to the object of an apply configuration. Parts that the configuration does not set are
// empty.
func objectOf(config runtime.ApplyConfiguration) apply.ObjectRef {
	var object metav1.PartialObjectMetadata
	if raw, err := json.Marshal(config); err == nil {
		_ = json.Unmarshal(raw, &object) // the API server returns the error for a malformed configuration
	}
	return apply.ObjectRef{
		GroupVersionKind: object.GroupVersionKind(), NamespacedName: client.ObjectKeyFromObject(&object),
		UID: object.UID, ResourceVersion: object.ResourceVersion,
	}
}

// setsStatus reports whether an apply configuration sets a status. In an apply to the object itself, the API server
// ignores a status if the kind has a status subresource, and an Applier would return an error.
func setsStatus(config runtime.ApplyConfiguration) bool {
	if content, ok := config.(runtime.Unstructured); ok {
		return content.UnstructuredContent()["status"] != nil
	}
	fields := reflect.Indirect(reflect.ValueOf(config))
	if fields.Kind() != reflect.Struct {
		return false
	}
	status := fields.FieldByName("Status")
	return status.IsValid() && !status.IsZero()
}

// sentOnly is an apply.Metrics that ignores intents that an Applier rejected as invalid. The Client sends such an
// intent unchanged, and observes that request instead.
type sentOnly struct{ apply.Metrics }

func (m sentOnly) ObserveApply(o apply.ApplyObservation) {
	if o.Result != apply.ResultOf(apply.ErrInvalidIntent) {
		m.Metrics.ObserveApply(o)
	}
}
