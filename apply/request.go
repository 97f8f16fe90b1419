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

// send is one apply request, of the intent or what is left of it.
func (c *call) send(ctx context.Context, form *encodedIntent, p pin, force bool) (Action, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	config, err := form.fresh(p)
	if err != nil {
		return "", err
	}
	c.attempts++
	c.looked, c.answer, c.sent = nil, nil, form
	known := c.sending()
	c.exchange.Calling()
	err = withoutValues(c.ref, c.apply(ctx, config, force)) // before it is logged
	c.exchange.Called(err)
	c.log.V(1).Info("applied", "attempt", c.attempts, "force", force, "pinnedTo", p.resourceVersion, "error", err)
	switch {
	case err != nil && c.exchange.LastAnswer().Status != 0: // it landed, and the client cannot read how
		err = &RetryableError{Object: c.ref, Err: fmt.Errorf("reading the answer: %w", err)}
		known(err)
		return "", err
	case err != nil:
		known(c.classify(ctx, err))
		return "", err
	}
	c.answered = config
	action := c.judge(config)
	c.madeIt()
	known(nil)
	if c.did == "" && action != Unchanged && !c.dryRun {
		c.did = action
	}
	return action, nil
}

var statusPath = fieldowners.MustParsePath(".status")

func isStatus(path fieldowners.Path) bool { return path.HasPrefix(statusPath) }

// statusLanded tells a status that the server dropped, as it does when it is sent to
// an object that has a status subresource: without a word, and for ever.
func (c *call) statusLanded() error {
	if c.intent.subresource != "" || c.intent.object[statusSubresource] == nil {
		return nil
	}
	answer := c.landed()
	if answer == nil || len(answer.GetManagedFields()) == 0 {
		return nil // nobody can tell
	}
	ownership, _ := fieldowners.ParseReadable(answer.GetManagedFields())
	for _, entry := range ownership.Entries() {
		if c.isOurs(entry.Manager) && slices.ContainsFunc(entry.Fields(), isStatus) {
			return nil
		}
	}
	return &RefusedError{Object: c.ref,
		Err: errors.New("the server took the rest and dropped the status: set Intent.Subresource to \"status\", in an intent of its own")}
}

// apply has the client send a configuration to the object or to a subresource.
func (c *call) apply(ctx context.Context, config runtime.ApplyConfiguration, force bool) error {
	options := client.ApplyOptions{FieldManager: c.config.FieldManager}
	if force {
		options.Force = &force
	}
	if c.dryRun {
		options.DryRun = []string{metav1.DryRunAll}
	}
	if c.intent.subresource == "" {
		return c.client.Apply(ctx, config, &options)
	}
	target, subresource := config, &client.SubResourceApplyOptions{ApplyOptions: options}
	if c.intent.hasBody() {
		target, subresource.SubResourceBody = client.ApplyConfigurationFromUnstructured(c.newLive()), config
	}
	return c.client.SubResource(c.intent.subresource).Apply(ctx, target, subresource)
}

// emptyObject has the typed form if the scheme knows one, as informers usually have
// it.
func (c *call) emptyObject() client.Object {
	if known, err := c.client.Scheme().New(c.ref.GroupVersionKind); err == nil {
		if object, ok := known.(client.Object); ok {
			return object
		}
	}
	return c.newLive()
}

// readCached reads the object as the client has it, and live where its cache does not
// give it: that takes get alone.
func (c *call) readCached(ctx context.Context) (client.Object, error) {
	object, err := c.emptyObject(), errNotCached
	if steady := c.config.Steady; steady == nil || !steady.reads.stuck(c.ref.GroupVersionKind) {
		err = c.readFrom(ctx, c.reads, object)
	}
	if errors.Is(err, errNotCached) {
		object = c.newLive()
		c.exchange.Calling()
		err = c.config.LiveReader.Get(ctx, c.ref.NamespacedName, object)
		c.exchange.Called(err)
	}
	switch {
	case apierrors.IsNotFound(err):
		return nil, errAbsent
	case err != nil:
		return nil, fmt.Errorf("reading it: %w", err)
	}
	return object, nil
}

// pinTo binds the call to the object that was read.
func (c *call) pinTo(object client.Object) error {
	if c.intent.ref.UID != "" && c.intent.ref.UID != object.GetUID() {
		return &UIDMismatchError{Object: c.intent.ref, Err: fmt.Errorf("the object read has uid %s", object.GetUID())}
	}
	if c.intent.ref.UID = object.GetUID(); c.intent.ref.UID == "" {
		return errors.New("it cannot be pinned: the object read has no uid")
	}
	c.readVersion = object.GetResourceVersion()
	return nil
}

// readLive reads the object past the cache; where the intent has a Body, what the
// subresource gives.
func (c *call) readLive(ctx context.Context) (*unstructured.Unstructured, error) {
	live := c.newLive()
	read := func() error { return c.config.LiveReader.Get(ctx, c.ref.NamespacedName, live) }
	if c.intent != nil && c.intent.hasBody() {
		object := live
		live = wire.Named(c.intent.bodyKind, c.ref.NamespacedName)
		read = func() error { return c.client.SubResource(c.intent.subresource).Get(ctx, object, live) }
	}
	c.exchange.Calling()
	err := read()
	c.exchange.Called(err)
	if wire.IsAbsent(err, c.ref.Name) {
		return nil, errAbsent
	}
	return live, err
}

func (c *call) newLive() *unstructured.Unstructured {
	return wire.Named(c.ref.GroupVersionKind, c.ref.NamespacedName)
}

// landed gives the object as the server answered the last apply, or nil when that
// is not known: a typed configuration has no managed fields.
func (c *call) landed() *unstructured.Unstructured {
	if c.answer != nil {
		return c.answer
	}
	answer := &unstructured.Unstructured{}
	if recorded := c.exchange.LastAnswer(); recorded.Status != 0 && answer.UnmarshalJSON(recorded.Body) == nil {
		c.answer = answer
	} else if holder, ok := c.answered.(wire.Unstructured); ok {
		answer.Object = holder.UnstructuredContent()
		c.answer = answer
	}
	return c.answer
}
