package apply

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/fieldowners"
)

// guardShrinking returns a ShrinkError if the intent would give up a larger share of our fields
// than Config.MaxShrink. A field counts as given up if the intent has no value at its path, so
// entries at another apiVersion are not counted, and neither are those that a Body writes.
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

// guardTakingBack is the same for an intent before which fields are taken back: these count as
// ours.
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
