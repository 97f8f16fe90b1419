package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply/internal/wire"
	"coapply.dev/fieldowners"
)

// request is one apply: what is left of an intent, and what it is pinned to.
type request struct {
	form  *encodedIntent
	pin   pin
	force bool
}

// send sends one apply.
func (c *call) send(ctx context.Context, r request) (*answer, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	config, err := r.form.fresh(r.pin)
	if err != nil {
		return nil, err
	}
	c.outcome.Attempts++
	c.target.read = nil
	known := c.sending(r.form, r.force)
	c.exchange.Calling()
	decoded, err := c.apply(ctx, r.form, config, r.force)
	err = withoutValues(c.ref, err) // before it is logged
	c.exchange.Called(err)
	err = c.checkNotFound(ctx, r.form.Subresource, err)
	c.log.V(1).Info("sent an apply", "attempt", c.outcome.Attempts, "force", r.force, "pinnedTo", r.pin.resourceVersion, "error", err)
	switch {
	case err != nil && c.exchange.LastAnswer().Status != 0: // it landed, and the client cannot read how
		err = &RetryableError{Object: c.ref, Err: fmt.Errorf("reading the answer: %w", err)}
		known(err)
		return nil, err
	case err != nil:
		known(c.classify(ctx, err))
		return nil, err
	}
	landed := &answer{sent: r.form, decoded: decoded, recorded: c.exchange.LastAnswer()}
	c.judge(landed)
	c.madeIt()
	known(nil)
	if c.outcome.Action == "" && landed.action != Unchanged && !c.dryRun {
		c.outcome.Action = landed.action
	}
	return landed, nil
}

var statusPath = fieldowners.MustParsePath(".status")

func isStatus(path fieldowners.Path) bool { return path.HasPrefix(statusPath) }

// statusLanded returns an error if the server dropped the status. It does so silently if the
// kind has a status subresource and the intent does not name it.
func (c *call) statusLanded(landed *answer) error {
	if c.intent.Subresource != "" || c.intent.object[statusSubresource] == nil {
		return nil
	}
	entries := landed.head().ManagedFields
	if len(entries) == 0 {
		return nil // not known
	}
	ownership, _ := fieldowners.ParseReadable(entries)
	for _, entry := range ownership.Entries() {
		if c.isOurs(entry.Manager) && slices.ContainsFunc(entry.Fields(), isStatus) {
			return nil
		}
	}
	return &RefusedError{Object: c.ref,
		Err: errors.New("the server took the rest and dropped the status: set Intent.Subresource to \"status\", in an intent of its own")}
}

// apply sends a configuration to the object or to a subresource, and returns the value into
// which the client decodes the server's answer.
func (c *call) apply(ctx context.Context, form *encodedIntent, config runtime.ApplyConfiguration, force bool) (decoded runtime.ApplyConfiguration, err error) {
	options := client.ApplyOptions{FieldManager: c.config.FieldManager}
	if force {
		options.Force = &force
	}
	if c.dryRun {
		options.DryRun = []string{metav1.DryRunAll}
	}
	if form.Subresource == "" {
		return config, c.client.Apply(ctx, config, &options)
	}
	target, subresource := config, &client.SubResourceApplyOptions{ApplyOptions: options}
	if form.hasBody() {
		target, subresource.SubResourceBody = client.ApplyConfigurationFromUnstructured(c.newLive()), config
	}
	return target, c.client.SubResource(form.Subresource).Apply(ctx, target, subresource)
}

// emptyObject returns an empty object of the call's kind, typed if the scheme knows the kind,
// as informers usually are.
func (c *call) emptyObject() client.Object {
	if known, err := c.client.Scheme().New(c.ref.GroupVersionKind); err == nil {
		if object, ok := known.(client.Object); ok {
			return object
		}
	}
	return c.newLive()
}

// readCached reads the object by the client, and live if the client's cache does not have the
// kind: that needs only the right to get.
func (c *call) readCached(ctx context.Context) (client.Object, error) {
	object, err := c.emptyObject(), errNotCached
	if steady := c.config.Steady; steady == nil || !steady.reads.stuck(c.ref.GroupVersionKind) {
		err = c.readFrom(ctx, c.reads, object)
	}
	if errors.Is(err, errNotCached) {
		return c.readWhole(ctx)
	}
	return read(object, err)
}

// readWhole reads the object from the API server, also if the intent is for a subresource.
func (c *call) readWhole(ctx context.Context) (client.Object, error) {
	object := c.newLive()
	c.exchange.Calling()
	err := c.config.LiveReader.Get(ctx, c.ref.NamespacedName, object)
	c.exchange.Called(err)
	return read(object, err)
}

// read returns the result of a read of a whole object, errAbsent if there is none.
func read(object client.Object, err error) (client.Object, error) {
	switch {
	case apierrors.IsNotFound(err):
		return nil, errAbsent
	case err != nil:
		return nil, fmt.Errorf("reading it: %w", err)
	}
	return object, nil
}

// readLive reads the object past the cache, or its subresource if the intent has a Body.
func (c *call) readLive(ctx context.Context) (*unstructured.Unstructured, error) {
	live := c.newLive()
	read := func() error { return c.config.LiveReader.Get(ctx, c.ref.NamespacedName, live) }
	if c.intent.hasBody() {
		object := live
		live = wire.Named(c.intent.bodyKind, c.ref.NamespacedName)
		read = func() error { return c.client.SubResource(c.intent.Subresource).Get(ctx, object, live) }
	}
	c.exchange.Calling()
	err := read()
	c.exchange.Called(err)
	if c.intent.hasBody() {
		err = c.checkNotFound(ctx, c.intent.Subresource, err)
	}
	if wire.IsAbsent(err, c.ref.Name) {
		return nil, errAbsent
	}
	return live, err
}

func (c *call) newLive() *unstructured.Unstructured {
	return wire.Named(c.ref.GroupVersionKind, c.ref.NamespacedName)
}
