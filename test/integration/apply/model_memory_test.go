package apply

import (
	"errors"
	"fmt"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/test/kit"
	"coapply.dev/test/kit/model"
)

// memoryCase is a ConfigMap on the server and in the model, with one applier.
type memoryCase struct {
	*model.World

	us        *apply.Applier
	policy    model.Policy
	mustExist bool // of our intents
}

func newMemoryCase(t *testing.T, name string, policy model.Policy) *memoryCase {
	t.Helper()
	c := kit.NewClient(t, model.Server(t))
	key := client.ObjectKey{Namespace: kit.NewNamespace(t, c), Name: name}
	w := &model.World{Client: c, Model: model.NewModel(model.ConfigMapKind), Tally: model.NewTally(), Key: key}
	w.Keep(t)
	return &memoryCase{World: w, us: kit.NewApplier(t, c, "us", policy.Policy()), policy: policy}
}

func content(fields map[string]any) model.Tree {
	return model.Flatten(model.ConfigMapKind.Shape, fields)
}

func (m *memoryCase) applies(t *testing.T, manager string, config model.Tree) {
	t.Helper()
	if err := m.ForeignApply(t.Context(), model.ApplierOf(manager, ""), config, true); err != nil {
		t.Fatal(err)
	}
}

func (m *memoryCase) updates(t *testing.T, manager string, overlay model.Tree) {
	t.Helper()
	body := m.Live.Only(func(string) bool { return true })
	maps.Copy(body, overlay)
	if err := m.ForeignUpdate(t.Context(), model.UpdaterOf(manager, ""), body); err != nil {
		t.Fatal(err)
	}
}

// we apply an intent and hold what comes of it against the model.
func (m *memoryCase) we(t *testing.T, config model.Tree) apply.Outcome {
	t.Helper()
	want := m.Settle(model.ApplierOf("us", ""), config, m.policy)
	outcome, err := m.us.Apply(t.Context(), apply.Intent{
		Config: client.ApplyConfigurationFromUnstructured(m.Envelope(config)), MustExist: m.mustExist})
	if !errors.Is(err, want.Class) {
		t.Errorf("got %v, want %v", err, want.Class)
	}
	if diff := cmp.Diff(want.Clashes, conflictsOf(outcome)); diff != "" {
		t.Errorf("conflicts (-model +outcome):\n%s", diff)
	}
	diff, err := m.Differences(t.Context())
	if err != nil || diff != "" {
		t.Errorf("%v (-model +server):\n%s", err, diff)
	}
	return outcome
}

// TestMemoryChangesNothingThatStands has what random intents found about what an
// applier remembers.
func TestMemoryChangesNothingThatStands(t *testing.T) {
	data := func(keys map[string]any) model.Tree { return content(map[string]any{"data": keys}) }
	toShare := model.Policy{Otherwise: apply.Share}

	for _, mustExist := range []bool{false, true} {
		t.Run(fmt.Sprintf("a new owner is rejected and the value is another one, must exist: %v", mustExist), func(t *testing.T) {
			policy := model.Policy{Otherwise: apply.Share, Rules: []model.Rule{{Match: apply.Match{Manager: "rejected"}, Decision: apply.Reject}}}
			m := newMemoryCase(t, "rejected", policy)
			m.mustExist = mustExist
			intent := data(map[string]any{"k": "ours", "m": "ours"})
			m.applies(t, "other", data(map[string]any{"k": "one"}))
			m.we(t, intent)
			m.applies(t, "us", content(nil)) // somebody releases what we own
			m.applies(t, "rejected", data(map[string]any{"k": "two"}))
			m.we(t, intent)
		})
	}
	t.Run("what the first of two requests changed is not Unchanged", func(t *testing.T) {
		m := newMemoryCase(t, "unchanged", toShare)
		m.applies(t, "other", data(map[string]any{"k": "theirs"}))
		m.we(t, data(map[string]any{"k": "ours", "m": "ours"}))
		m.applies(t, "other", content(nil))
		if outcome := m.we(t, data(map[string]any{"k": "theirs"})); outcome.Action != apply.Configured {
			t.Errorf("%s, and a field was given up", outcome.Action)
		}
	})
	t.Run("an owner who joins has another decision", func(t *testing.T) {
		policy := model.Policy{Otherwise: apply.Share, Rules: []model.Rule{{Match: apply.Match{Manager: "strong"}, Decision: apply.Relinquish}}}
		m := newMemoryCase(t, "joins", policy)
		m.applies(t, "other", data(map[string]any{"k": "theirs"}))
		m.we(t, data(map[string]any{"k": "ours"}))
		m.applies(t, "strong", data(map[string]any{"k": "theirs"}))
		m.we(t, data(map[string]any{"k": "ours"}))
	})
	t.Run("a map that its owner had emptied is there again", func(t *testing.T) {
		m := newMemoryCase(t, "emptied", model.Policy{Otherwise: apply.Relinquish})
		binary := func(keys map[string]any) model.Tree { return content(map[string]any{"binaryData": keys}) }
		m.updates(t, "editor", binary(map[string]any{"b": "AAAA"}))
		m.applies(t, "other", binary(map[string]any{"b": "AQID"}))
		m.applies(t, "other", content(nil)) // the map goes, and stays the editor's
		intent := content(map[string]any{"binaryData": map[string]any{"b": "AQID", "c": "AQID"}, "data": map[string]any{"k": "ours"}})
		m.we(t, intent)
		m.updates(t, "editor", binary(map[string]any{"b": "AAAA"}))
		m.we(t, intent)
	})
}
