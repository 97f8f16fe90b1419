package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply/internal/wire"
	"coapply.dev/fieldowners"
	"coapply.dev/internal/recent"
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

// answer is the result of a request, or of a call that sent nothing.
type answer struct {
	action   Action
	sent     *encodedIntent             // nil: nothing was sent
	decoded  runtime.ApplyConfiguration // by the client
	recorded wire.Answer
	known    *unstructured.Unstructured // what object has returned
	read     *wire.Head                 // what head has returned
}

// nothingSent returns the answer of a call that sent nothing.
func nothingSent(action Action) *answer { return ends[action] }

var ends = map[Action]*answer{
	Unchanged: {action: Unchanged}, Absent: {action: Absent}, Configured: {action: Configured},
}

// object returns the object as the server answered, or nil where no answer was recorded and the
// configuration is typed: that has no managed fields.
func (a *answer) object() *unstructured.Unstructured {
	if a.known != nil {
		return a.known
	}
	object := &unstructured.Unstructured{}
	if holder, ok := a.decoded.(wire.Unstructured); ok { // so that it is not decoded again
		object.Object = holder.UnstructuredContent()
		a.known = object
	} else if object.UnmarshalJSON(a.recorded.Body) == nil {
		a.known = object
	}
	return a.known
}

// judge reads from a successful answer which object was applied to, and what the apply did.
//
// Created follows from the HTTP status. Unchanged follows from a resourceVersion that was known
// before: that of this applier's last answer, or of the object read for MustExist. (The applies
// of one applier to an object are sent one by one, in its lane, so the last answer is the
// latest one.) Where another manager wrote in between, an apply that changes nothing cannot be
// told from one that does and is reported as Configured. (The time of our managed fields entry
// does not tell either: the server stamps it for a changed value, not for a changed owner.)
func (c *call) judge(landed *answer) {
	object := landed.head()
	c.ref.UID, c.ref.ResourceVersion = object.UID, object.ResourceVersion
	seenBefore := !c.dryRun && c.seenBefore(c.ref)
	switch {
	case landed.recorded.Status == http.StatusCreated:
		landed.action = Created
	case seenBefore, c.target.version != "" && c.target.version == object.ResourceVersion:
		landed.action = Unchanged
	default:
		landed.action = Configured
	}
}

// head reads the answer as it was recorded, or as the client has it where nothing is recorded
// or it is no JSON. The apply has landed, so what cannot be read is left out and is no error.
func (a *answer) head() wire.Head {
	if a.sent == nil { // such answers are shared
		return wire.Head{}
	}
	if a.read == nil {
		a.read = a.readHead()
	}
	return *a.read
}

func (a *answer) readHead() *wire.Head {
	if found, err := wire.ReadHead(a.recorded.Body); err == nil {
		return &found
	}
	if holder, ok := a.decoded.(wire.Unstructured); ok {
		decoded := unstructured.Unstructured{Object: holder.UnstructuredContent()}
		found := wire.Identity{UID: decoded.GetUID(), ResourceVersion: decoded.GetResourceVersion()}
		return &wire.Head{Identity: found, ManagedFields: decoded.GetManagedFields()}
	}
	body, _ := json.Marshal(a.decoded)
	found, _ := wire.ReadHead(body)
	return &found
}

// seenVersions remembers the resourceVersion of the last answer for each of the
// objects applied most recently.
type seenVersions = recent.Cache[seenKey, wire.Identity]

const seenObjects = 4096

type seenKey struct {
	kind metav1.GroupVersionKind
	name types.NamespacedName
}

// seenBefore remembers the object's resourceVersion and reports whether it is the one
// remembered before.
func (a *Applier) seenBefore(ref ObjectRef) bool {
	key := seenKey{metav1.GroupVersionKind(ref.GroupVersionKind), ref.NamespacedName}
	now := wire.Identity{UID: ref.UID, ResourceVersion: ref.ResourceVersion}
	before, _ := a.seen.Get(key)
	a.seen.Put(key, now)
	return before == now && now.ResourceVersion != ""
}

// RecordExchange lets appliers read from the HTTP exchange what the client's
// answer does not say: how many requests went out, client-go's own retries
// included, and whether the object was created or left unchanged. Wrap the
// rest.Config with it before any client is made from it:
//
//	cfg.Wrap(apply.RecordExchange)
//
// Without RecordExchange an Outcome counts calls of the client instead of requests and is
// Configured where it might be Created or Unchanged, and the writes of a process to one object
// go one at a time, however far the API server is: RecordExchange also measures the round trip,
// by a GET of /livez now and then while applies wait for each other. Only requests of an
// Applier are recorded.
func RecordExchange(next http.RoundTripper) http.RoundTripper { return wire.RecordExchange(next) }

// readable returns who owns what, without entries of others that cannot be read, as anybody can
// forge them. An entry of our own that cannot be read is an error.
func (a *Applier) readable(entries []metav1.ManagedFieldsEntry) (fieldowners.Ownership, error) {
	ownership, unread := fieldowners.ParseReadable(entries)
	for _, entry := range unread {
		if entry.Manager == a.config.FieldManager {
			return fieldowners.Ownership{}, entry
		}
	}
	return ownership, nil
}
