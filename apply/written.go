package apply

import (
	"strconv"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// writtenKey names what one manager writes: an object or a subresource.
type writtenKey struct {
	kind        schema.GroupKind
	name        types.NamespacedName
	manager     string
	subresource string
}

// written is what is known of our own last write there.
type written struct {
	resourceVersion uint64 // of the last answer; 0 before the first
	unsure          bool   // a write was sent whose answer is not known
}

func (c *call) writtenKey(subresource string) writtenKey {
	return writtenKey{c.ref.GroupKind(), c.ref.NamespacedName, c.config.FieldManager, subresource}
}

// Wrote tells the Applier that an object was or is about to be written to under its field
// manager by other means than Apply, such as a transfer of fields or a delete. Until the next
// answer to an apply to the object, nothing that is remembered of it is used, and the
// steady-state check trusts no read of it.
func (a *Applier) Wrote(object ObjectRef) {
	a.forgetObject(object) // what was left of an intent may leave out what is ours by then
	s := a.config.Steady
	if s == nil {
		return
	}
	for _, subresource := range []string{"", statusSubresource} {
		key := writtenKey{object.GroupKind(), object.NamespacedName, a.config.FieldManager, subresource}
		before, _ := s.written.Get(key)
		s.written.Put(key, written{before.resourceVersion, true})
	}
}

// believes reports whether the object read includes our own last write: a proof about the
// object before that write says nothing about it afterwards. That resourceVersions can be
// compared is KEP-5504.
func (c *call) believes(object client.Object, subresource string) bool {
	before, ok := c.config.Steady.written.Get(c.writtenKey(subresource))
	if !ok {
		return true
	}
	read, err := strconv.ParseUint(object.GetResourceVersion(), 10, 64)
	return err == nil && !before.unsure && read >= before.resourceVersion
}

// sending makes believes false until the answer is known. The caller passes the error of the
// write to known.
func (c *call) sending(form *encodedIntent) (known func(err error)) {
	s := c.config.Steady
	if s == nil || c.dryRun || form.hasBody() {
		return func(error) {}
	}
	key := c.writtenKey(form.Subresource)
	before, _ := s.written.Get(key)
	s.written.Put(key, written{before.resourceVersion, true})
	return func(err error) {
		after := written{before.resourceVersion, before.unsure}
		if err == nil {
			version, parseErr := strconv.ParseUint(c.ref.ResourceVersion, 10, 64)
			after = written{max(version, before.resourceVersion), parseErr != nil}
		} else if result := ResultOf(err); result == "Retryable" || result == "Cancelled" {
			after.unsure = true
		}
		s.written.Put(key, after)
	}
}
