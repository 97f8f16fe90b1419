package apply

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/fieldowners"
)

// guardShrinking refuses an intent that would give up a larger share of our fields
// than Config.MaxShrink. A field counts as given up when the intent has no value
// there; that is known by name, so an entry at another apiVersion cannot be judged
// and passes, as does one that a Body writes.
func (c *call) guardShrinking(ctx context.Context, cached client.Object) error {
	managed := cached.GetManagedFields()
	if len(managed) == 0 { // stripped on the way into the cache
		live, err := c.readLive(ctx)
		if err != nil {
			return err
		}
		managed = live.GetManagedFields()
	}
	ownership, err := c.readable(managed)
	if err != nil {
		return err
	}
	return c.guardDropping(c.ownedLeaves(ownership))
}

// guardTakingBack judges an intent by what is ours and by what is about to be taken back.
func (c *call) guardTakingBack(live client.Object) error {
	ownership, err := c.readable(live.GetManagedFields())
	if err != nil {
		return err
	}
	return c.guardDropping(append(c.ownedLeaves(ownership), c.lostOf(live, fieldowners.Entry.Leaves)...))
}

func (c *call) guardDropping(owned []fieldowners.Path) error {
	var dropped []fieldowners.Path
	for _, path := range owned {
		if _, set := path.Nearest(c.intent.object); !set {
			dropped = append(dropped, path)
		}
	}
	if float64(len(dropped)) <= c.config.MaxShrink*float64(len(owned)) {
		return nil
	}
	return &ShrinkError{Object: c.ref, FieldManager: c.config.FieldManager, Owned: len(owned), Dropped: dropped, Max: c.config.MaxShrink}
}

func (c *call) ownedLeaves(ownership fieldowners.Ownership) []fieldowners.Path {
	if c.intent.hasBody() {
		return nil
	}
	for _, entry := range ownership.Entries() {
		if c.isOurs(entry.Manager) && entry.APIVersion == c.ref.GroupVersion().String() {
			return entry.Leaves()
		}
	}
	return nil
}
