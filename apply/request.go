package apply

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply/internal/applyconfig"
	"coapply.dev/apply/internal/cacheread"
	"coapply.dev/apply/internal/hidden"
	"coapply.dev/apply/internal/ledger"
	"coapply.dev/apply/internal/wire"
	"coapply.dev/fieldowners"
)

// request is one apply to send, with the uid and resourceVersion to which the apply is pinned.
type request struct {
	form  *encodedIntent
	pin   wire.Identity // empty values are not sent
	force bool
}

// send sends one apply, and returns the API server's response. It records the write and the new resourceVersion.
func (c *call) send(ctx context.Context, r request) (*answer, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c.outcome.Attempts++
	c.target.read = nil
	wide := r.force || r.form.hasBody() // the apply may change fields of other managers
	attempt := c.sending(r.form)
	c.exchange.Calling()
	decoded, err := c.apply(ctx, r.form, r.form.Fresh(applyconfig.Ref(r.form.ref), r.pin), r.force)
	err = hidden.InError(c.ref.GroupKind(), err)
	c.exchange.Called(err)
	err = c.checkNotFound(ctx, r.form.Subresource, err)
	c.log.V(1).Info("sent an apply", "attempt", c.outcome.Attempts, "force", r.force, "pinnedTo", r.pin.ResourceVersion, "error", err)
	switch {
	case err != nil && c.exchange.LastStatus() != 0: // the apply succeeded, but the response cannot be decoded
		err = &RetryableError{Object: c.ref, Err: fmt.Errorf("decoding the API server's response to the apply, which succeeded: %w", err)}
		attempt.Unknown(wide)
		return nil, err
	case err != nil && mayHaveLanded(c.classify(ctx, err)):
		attempt.Unknown(wide)
		return nil, err
	case err != nil:
		attempt.Refused()
		return nil, err
	}
	landed := &answer{sent: r.form, response: applyconfig.ResponseIn(decoded), status: c.exchange.LastStatus()}
	c.judge(landed, attempt, wide)
	if c.outcome.Action == "" && landed.action != Unchanged && !c.dryRun {
		c.outcome.Action = landed.action
	}
	return landed, nil
}

// mayHaveLanded reports whether an apply may have succeeded although it returned the given classified error.
func mayHaveLanded(err error) bool {
	return errors.Is(err, ErrRetryable) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

var statusPath = fieldowners.MustParsePath(".status")

func isStatus(path fieldowners.Path) bool { return path.HasPrefix(statusPath) }

// statusLanded returns an error if the API server has dropped the status of the intent. The API server drops a status
// silently if the kind has a status subresource and the apply is not sent to that subresource.
func (c *call) statusLanded(landed *answer) error {
	if c.intent.Subresource != "" || c.intent.Fields[statusSubresource] == nil {
		return nil
	}
	entries := landed.head().ManagedFields
	if len(entries) == 0 {
		return nil // without managed fields, nothing is known about the status
	}
	ownership, _ := fieldowners.ParseReadable(entries)
	for _, entry := range ownership.Entries() {
		if c.isOurs(entry.Manager) && slices.ContainsFunc(entry.Fields(), isStatus) {
			return nil
		}
	}
	return &RefusedError{Object: c.ref,
		Err: errors.New("the API server dropped the status and wrote the other fields: apply the status with another intent, whose Intent.Subresource is \"status\"")}
}

// apply sends an apply configuration to the object or to a subresource. decoded is the value into which the client has
// decoded the API server's response.
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

// emptyObject returns an empty object of the call's kind, as the target of a read. The object is typed if the client's
// scheme has the kind, because most informers are typed. Otherwise the object is unstructured.
func (c *call) emptyObject() client.Object {
	if known, err := c.client.Scheme().New(c.ref.GroupVersionKind); err == nil {
		if object, ok := known.(client.Object); ok {
			return object
		}
	}
	return c.newLive()
}

// readCached reads the object with the Applier's client, usually from its cache. If the cache does not return objects
// of the kind, readCached reads from the API server. This read needs only the right to get.
func (c *call) readCached(ctx context.Context) (client.Object, error) {
	object, err := c.emptyObject(), cacheread.ErrNotCached
	if steady := c.config.Steady; steady == nil || !steady.reads.Stuck(c.ref.GroupVersionKind) {
		err = c.reads.Get(ctx, c.ref.GroupVersionKind, c.ref.NamespacedName, object, c.resource)
	}
	if errors.Is(err, cacheread.ErrNotCached) {
		return c.readWhole(ctx)
	}
	return read(object, err)
}

// readWhole reads the object itself from the API server, even if the intent is for a subresource.
func (c *call) readWhole(ctx context.Context) (client.Object, error) {
	object := c.newLive()
	c.exchange.Calling()
	err := c.config.LiveReader.Get(ctx, c.ref.NamespacedName, object)
	c.exchange.Called(err)
	return read(object, err)
}

// read converts the result of a read: a NotFound becomes errAbsent, and other errors are wrapped.
func read(object client.Object, err error) (client.Object, error) {
	switch {
	case apierrors.IsNotFound(err):
		return nil, errAbsent
	case err != nil:
		return nil, fmt.Errorf("reading the object: %w", err)
	}
	return object, nil
}

// readLive reads the object from the API server. For an intent whose subresource has a kind of its own, such as Scale
// (Intent.Body), readLive reads the subresource instead of the object.
func (c *call) readLive(ctx context.Context) (*unstructured.Unstructured, error) {
	live := c.newLive()
	read := func() error { return c.config.LiveReader.Get(ctx, c.ref.NamespacedName, live) }
	if c.intent.hasBody() {
		object := live
		live = wire.Named(c.intent.Kind(), c.ref.NamespacedName)
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

// answer is the result of a call. If the result is not the API server's response to an apply, only the field action is
// set.
type answer struct {
	action   Action
	sent     *encodedIntent // the intent as sent; nil if nothing was sent
	response *applyconfig.Response
	status   int // the HTTP status code; 0 without RecordExchange
}

// nothingSent returns an answer with the given action and without a response.
func nothingSent(action Action) *answer { return ends[action] }

var ends = map[Action]*answer{
	Unchanged: {action: Unchanged}, Absent: {action: Absent}, Configured: {action: Configured},
}

// judge determines the action of a successful apply, and updates the call's uid and resourceVersion from the response.
//
// The action is Created if the HTTP status is 201. It is Unchanged if the object has the same resourceVersion as in the
// read for MustExist, or as in a previous response to this field manager. There is no later response, because a field
// manager sends its applies to one object one at a time. Otherwise the action is Configured, even if the change came from another
// manager and the apply itself changed nothing. The response does not show who made the change. The time in the managed
// fields entry does not show this either: the API server updates the time for a changed value, but not for a changed
// owner.
func (c *call) judge(landed *answer, attempt *ledger.Attempt, wide bool) {
	object := landed.head()
	c.ref.UID, c.ref.ResourceVersion = object.UID, object.ResourceVersion
	unchanged := attempt.Landed(object.Identity, wide, c.intent.fromBirth() && object.UID != "")
	switch {
	case landed.status == http.StatusCreated:
		landed.action = Created
	case unchanged, c.target.version != "" && c.target.version == object.ResourceVersion:
		landed.action = Unchanged
	default:
		landed.action = Configured
	}
}

// head returns the uid, resourceVersion and managed fields in the response. It is empty if nothing was sent.
func (a *answer) head() wire.Head {
	if a.response == nil {
		return wire.Head{}
	}
	return a.response.Head()
}

// RecordExchange wraps an HTTP transport to show Appliers what the client does not return: the number of HTTP requests,
// including client-go's own retries, and whether an apply created the object. Wrap the rest.Config before any client is
// made from it:
//
//	cfg.Wrap(apply.RecordExchange)
//
// Without RecordExchange, Outcome.Requests counts the client's calls instead of the HTTP requests, and Outcome.Action
// is Configured even if an apply created the object.
//
// With RecordExchange, a process may send several applies to one object at the same time if the network is slow. On a
// fast network, or without RecordExchange, it sends them one after the other. To measure the round-trip time,
// RecordExchange sends a GET of /livez while several applies to one object are queued. It records only Appliers' requests.
func RecordExchange(next http.RoundTripper) http.RoundTripper { return wire.RecordExchange(next) }

// readable parses managed fields entries. It skips entries of other managers that cannot be parsed, because anybody can
// forge such entries. If an entry of this field manager cannot be parsed, it returns an error.
func (a *Applier) readable(entries []metav1.ManagedFieldsEntry) (fieldowners.Ownership, error) {
	ownership, unread := fieldowners.ParseReadable(entries)
	for _, entry := range unread {
		if entry.Manager == a.config.FieldManager {
			return fieldowners.Ownership{}, entry
		}
	}
	return ownership, nil
}
