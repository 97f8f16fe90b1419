package coapply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
)

// Client returns the manager's client with another Apply, that of the object and of its
// subresources. Everything else is the manager's client, unchanged.
//
// Apply takes turns with the other writers of the process, sends nothing when nothing
// would change, and has the policy settle conflicts. What it promises beyond that is what
// client.Apply does:
//
//   - The configuration holds the object afterwards. Where nothing was sent, that is the
//     cached object, without what the cache's transforms remove.
//   - client.ForceOwnership takes what is contested, whatever the policy says.
//   - client.FieldOwner applies under another name, with this policy.
//   - client.DryRunAll changes nothing, and says what Apply would say.
//   - Errors are those of package apply, and errors.As finds the API server's answer in
//     them: apierrors.IsConflict and the like hold.
//
// A configuration that an Applier would refuse, though the server takes it, is sent as it
// is, in its turn: one with a resourceVersion, one of the object itself that sets a
// status, one of the status that sets none. The policy is not asked then, and conflicts name
// no values.
//
// A policy or a name that is invalid is an error of each Apply.
func (rt *Runtime) Client(fieldManager string, policy apply.Policy) client.Client {
	return &applyingClient{Client: rt.mgr.GetClient(), rt: rt, fieldManager: fieldManager, policy: policy, writers: map[writerKey]writer{}}
}

type applyingClient struct {
	client.Client

	rt           *Runtime
	fieldManager string
	policy       apply.Policy

	mu      sync.Mutex
	writers map[writerKey]writer
}

// Apply implements client.Client.
func (c *applyingClient) Apply(ctx context.Context, config runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	options := (&client.ApplyOptions{}).ApplyOptions(opts)
	return c.apply(ctx, apply.Intent{Config: config}, *options)
}

// Status implements client.Client.
func (c *applyingClient) Status() client.SubResourceWriter { return c.SubResource("status") }

// SubResource implements client.Client.
func (c *applyingClient) SubResource(name string) client.SubResourceClient {
	return &applyingSubResource{SubResourceClient: c.Client.SubResource(name), client: c, name: name}
}

type applyingSubResource struct {
	client.SubResourceClient

	client *applyingClient
	name   string
}

// Apply implements client.SubResourceClient.
func (s *applyingSubResource) Apply(ctx context.Context, config runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption) error {
	options := (&client.SubResourceApplyOptions{}).ApplyOpts(opts)
	return s.client.apply(ctx, apply.Intent{Config: config, Subresource: s.name, Body: options.SubResourceBody}, options.ApplyOptions)
}

// apply does what all of them do.
func (c *applyingClient) apply(ctx context.Context, intent apply.Intent, options client.ApplyOptions) error {
	options.FieldManager = cmp.Or(options.FieldManager, c.fieldManager)
	applier, err := c.writer(writerKey{options.FieldManager, options.Force != nil && *options.Force})
	if err != nil {
		return fmt.Errorf("coapply: a client for the field manager %q: %w", options.FieldManager, err)
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
	case errors.Is(err, apply.ErrInvalidIntent): // let the server say what is wrong, if anything is
		return c.send(ctx, intent, options)
	case err != nil:
		return e.explain(err)
	case outcome.Action == apply.Absent:
		return absent(outcome.Object, e.err)
	}
	return e.writeTo(intent.Config)
}

// absent is client.Apply's error for a subresource of an object that does not exist.
func absent(object apply.ObjectRef, answer error) error {
	if !apierrors.IsNotFound(answer) {
		answer = apierrors.NewNotFound(schema.GroupResource{Group: object.Group, Resource: object.Kind}, object.Name)
	}
	return &apply.RefusedError{Object: object, Err: answer}
}

// dryRun asks the server what the apply would do. Where it would conflict, the policy is
// asked as well, which takes a look at the object.
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

// writerKey says under which name is applied, and whether by force.
type writerKey struct {
	fieldManager string
	force        bool
}

type writer struct {
	applier *apply.Applier
	err     error
}

// writer gives the one Applier of a name: it remembers what gave way.
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
