package apply_test

import (
	"encoding/json"
	"strings"
	"testing"
)

// A list item that only we own stays when its fields give way: the server would
// remove it with all that others own in it.
func TestItemsOfOursStay(t *testing.T) {
	for reason, test := range map[string]struct{ theirs, ours, sent, pin string }{
		"nobody else owns the item": {`{"f:image":{}}`, `{".":{},"f:name":{},"f:image":{}}`, `{"template":{"spec":{"containers":[{"name":"side"}]}}}`, atVersion}, // we own the image, too
		"another one owns it, too":  {wholeItem, `{"f:name":{}}`, `null`, pinned},
	} {
		w := newWorld(t)
		besideSideCar(test.theirs, test.ours)(w)
		applier := w.applier(relinquish)
		if _, err := applier.Apply(t.Context(), sideIntent(false)); err != nil {
			t.Fatal(err)
		}
		sideOwners(test.theirs, test.ours)(w)
		if _, err := applier.Apply(t.Context(), sideIntent(false)); err != nil {
			t.Fatal(err)
		}
		w.WantSent(whole, read, test.pin, read, whole, test.pin) // without schemas, conflicts in list items are not computed
		for i, body := range []int{1, 3} {
			raw, err := json.Marshal(bodyOf(t, w.Bodies()[body])["spec"])
			if err != nil || string(raw) != test.sent {
				t.Errorf("%s, apply %d: sent %s, want %s", reason, i+1, raw, test.sent)
			}
		}
	}
}

// TestItemOfOursStaysBesideOwnersWhoAreNotShown: the object shows that the item is ours alone,
// though not who refused.
func TestItemOfOursStaysBesideOwnersWhoAreNotShown(t *testing.T) {
	w := newWorld(t)
	besideSideCar(`{"f:image":{}}`, itemOfOur)(w)
	hides("kubectl")(w)
	if _, err := w.applier(relinquish).Apply(t.Context(), sideIntent(false)); err != nil || !strings.Contains(w.LastBody(), "side") {
		t.Errorf("sent %s, %v", w.LastBody(), err)
	}
	w.WantSent(whole, read, whole, pinned)
}
