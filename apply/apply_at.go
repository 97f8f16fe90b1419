package apply

import "context"

// ApplyAt sends an intent once, pinned to the resourceVersion that its object was read at:
// for who must not write over what he has not seen. The policy is not asked, and nothing is
// tried again: where the object is at another version the error is a *StaleWriteError, and
// an ownership conflict is the server's answer (IsOwnershipConflict). The other errors are
// those of Apply.
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
