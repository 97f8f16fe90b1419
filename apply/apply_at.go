package apply

import "context"

// ApplyAt sends an intent once, pinned to the resourceVersion that its object was read at:
// for who must not write over what he has not seen. The policy is not asked, and nothing is
// tried again: where the object is at another version the error is a *StaleWriteError, and
// an ownership conflict is the server's answer (IsOwnershipConflict). The other errors are
// those of Apply.
func (a *Applier) ApplyAt(ctx context.Context, intent Intent, resourceVersion string) (Outcome, error) {
	ctx, call := a.begin(ctx)
	action, err := call.applyAt(ctx, intent, resourceVersion)
	return call.end(action, err)
}

func (c *call) applyAt(ctx context.Context, intent Intent, version string) (action Action, err error) {
	if c.intent, err = encode(intent); err != nil {
		return "", err
	}
	c.ref = c.intent.ref
	err = c.inLane(ctx, func(ctx context.Context) error {
		action, err = c.send(ctx, c.intent, pin{uid: c.ref.UID, resourceVersion: version}, false)
		return err
	})
	return action, c.classify(ctx, err)
}
