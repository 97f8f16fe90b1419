package apply

import "context"

// ApplyAt sends an intent once, pinned to the resourceVersion at which its object was read, so
// that nothing unseen is overwritten. The policy is not asked, and nothing is tried again: if
// the object is at another version the error is a *StaleWriteError, and an ownership conflict
// is returned as the server's answer (IsOwnershipConflict). An intent without a uid may create
// an object that was deleted since. The other errors are those of Apply.
func (a *Applier) ApplyAt(ctx context.Context, intent Intent, resourceVersion string) (Outcome, error) {
	ctx, call := a.begin(ctx)
	landed, err := call.applyAt(ctx, intent, resourceVersion)
	return call.end(landed, err)
}

func (c *call) applyAt(ctx context.Context, intent Intent, version string) (landed *answer, err error) {
	intent.Belongs = nil // the version says which object it is
	encoded, err := encode(intent)
	if err != nil {
		return nil, err
	}
	c.about(encoded)
	err = c.inLane(ctx, func(ctx context.Context) error {
		landed, err = c.send(ctx, request{form: c.intent, pin: pin{uid: c.target.uid, resourceVersion: version}})
		return err
	})
	return landed, c.classify(ctx, err)
}
