package apply

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply/internal/applyconfig"
	"coapply.dev/apply/internal/hidden"
	"coapply.dev/apply/internal/ledger"
	"coapply.dev/apply/internal/wire"
	"coapply.dev/apply/lanes"
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
	if err := c.pace(ctx, r); err != nil {
		return nil, err
	}
	c.outcome.Attempts++
	c.target.read = nil
	wide := r.force || r.form.hasBody() // the apply may change fields of other managers
	attempt := c.sending()
	c.exchange.Calling()
	began := time.Now()
	decoded, err := c.apply(ctx, r.form, r.form.Fresh(applyconfig.Ref(r.form.ref), r.pin), r.force)
	took := time.Since(began)
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
	if landed.action != Unchanged {
		lanes.Landed(ctx, c.config.FieldManager, took, landed.head().ManagedFields)
	}
	if c.outcome.Action == "" && landed.action != Unchanged && !c.dryRun {
		c.outcome.Action = landed.action
	}
	return landed, nil
}

// pace waits until the lane permits the next apply of this process (see lanes.Pace). An apply that is pinned to a
// resourceVersion does not wait: the API server does not repeat it, and a wait would make its read older.
func (c *call) pace(ctx context.Context, r request) error {
	if err := ctx.Err(); err != nil || c.dryRun || r.pin.ResourceVersion != "" {
		return err
	}
	start := time.Now()
	defer func() { c.waited += time.Since(start) }()
	return lanes.Pace(ctx)
}

// sending records that an apply is about to be sent. For a dry run it records nothing, and returns nil.
func (c *call) sending() *ledger.Attempt {
	if c.dryRun {
		return nil
	}
	return c.ledger.Sending(c.ref.Key(), c.writer())
}

// mayHaveLanded reports whether an apply may have succeeded although it returned the given classified error.
func mayHaveLanded(err error) bool {
	return errors.Is(err, ErrRetryable) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
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

// answer is the result of a call. If nothing was sent, only the field action is set.
type answer struct {
	action   Action
	sent     *encodedIntent // the intent as sent; nil if nothing was sent
	response *applyconfig.Response
	status   int // the HTTP status code; 0 without RecordExchange
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

// checkNotFound calls CheckNotFound for the error of a request of this call, and counts the live read as a request.
func (c *call) checkNotFound(ctx context.Context, subresource string, err error) error {
	if !apierrors.IsNotFound(err) {
		return err
	}
	c.exchange.Calling()
	defer c.exchange.Called(nil)
	return CheckNotFound(ctx, c.config.LiveReader, c.pinnedRef(), subresource, err)
}

// classify converts the error of a request to one of the package's typed errors. For a 404 from a subresource, the
// result is errAbsent if the object does not exist, and a RefusedError if the object exists.
func (c *call) classify(ctx context.Context, err error) error {
	through := c.intent.Subresource
	switch {
	case errors.Is(err, errAbsent):
		return errAbsent
	case through != "" && apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse):
		err = fmt.Errorf("the kind may lack subresource %q: %w", through, err)
	case through != "" && apierrors.IsNotFound(err): // checkNotFound has confirmed that the object is absent
		return errAbsent
	case through != "" && apierrors.IsBadRequest(err):
		err = fmt.Errorf("the API server rejects the configuration for the subresource %q; if the subresource has a kind of its own, "+
			"as scale has, give an object of that kind as Intent.Body: %w", through, err)
	}
	return Classify(ctx, c.pinnedRef(), err)
}

// explain classifies an error that is not an ownership conflict. An HTTP 409 without status causes has one of two
// reasons: the object no longer has the pinned uid, or the write lost a race inside the API server (a transient
// error). If the write was pinned to a uid, explain reads the live object to distinguish the two.
func (c *call) explain(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	classified := c.classify(ctx, err)
	if !IsStaleWrite(classified) {
		return classified
	}
	if c.target.uid == "" {
		return &RetryableError{Object: c.ref, Err: err}
	}
	live, readErr := c.readLive(ctx)
	switch {
	case readErr != nil: // readErr may be errAbsent
		return c.classify(ctx, readErr)
	case live.GetUID() != c.target.uid:
		return &UIDMismatchError{Object: c.pinnedRef(), Err: err}
	}
	return &RetryableError{Object: c.ref, Err: err}
}

// errAbsent means that the object of the call does not exist, and must not be created by the call.
var errAbsent = errors.New("the object does not exist")

// absentOr returns the result of a call that failed with the given error. For errAbsent, the result is the action
// Absent if the intent sets MustExist or the call is not pinned to a uid. If the call is pinned to a uid and the intent
// does not set MustExist, the result is a UIDMismatchError. Other errors are returned unchanged.
func (c *call) absentOr(err error) (*answer, error) {
	if !errors.Is(err, errAbsent) {
		return nil, err
	}
	c.outcome.Conflicts = nil
	if c.intent.MustExist || c.target.uid == "" {
		return &answer{action: Absent}, nil
	}
	return nil, &UIDMismatchError{Object: c.pinnedRef(), Err: err}
}

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
