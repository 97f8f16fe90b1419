package applyset_test

import (
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"coapply.dev/apply"
	"coapply.dev/apply/applyset"
)

// A round that is followed by another prunes nothing, also by one that came to
// nothing: what its parent emits now was not applied.
func TestOvertakenRounds(t *testing.T) {
	secret := emits(apply.Intent{Config: corev1ac.Secret("b", "shop")})
	for name, later := range map[string]struct {
		emit  func() ([]apply.Intent, error)
		sent  []string
		fails bool
	}{
		"applied":                       {emitsConfigMap("b"), joins("configmaps", "b"), false},
		"the write to the parent fails": {secret, []string{announces}, true},
		"the emit fails":                {func() ([]apply.Intent, error) { return nil, errors.New("cannot know") }, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "a")
			sets := w.sets(apply.Policy{})
			first := w.standing(sets)
			if len(later.sent) == 1 {
				w.Answer(1, apierrors.NewForbidden(configMaps, "web", nil))
			}
			second := sets.Apply(t.Context(), w.parent(), later.emit)
			if (len(second.Errs) > 0) != later.fails {
				t.Fatal(second.Errs)
			}
			w.wantNext(later.sent...)
			_, err := first.Prune(t.Context())
			const says = "not pruned: this Round is out of date, because a later call of Sets.Apply or Sets.Delete for ConfigMap shop/web has begun"
			if !errors.Is(err, applyset.ErrNotPruned) || err.Error() != says {
				t.Errorf("%v; want %s", err, says)
			}
			w.wantNext()
		})
	}
}

// What a refused Prune says, as far as anything is known.
func TestWhyNothingIsPruned(t *testing.T) {
	parent := named("web")
	parent.UID, parent.ResourceVersion = "uid-1", "7"
	const invalid = "not pruned: not all intents were applied: invalid intent for ConfigMap shop/web: "
	for name, test := range map[string]struct {
		parent client.Object
		emit   func() ([]apply.Intent, error)
		says   string
	}{
		"a failed emit": {
			parent, func() ([]apply.Intent, error) { return nil, errors.New("cannot know") },
			"not pruned: not all intents were applied: computing the intents: cannot know",
		},
		"no emit": {parent, nil, invalid + "the function emit is nil"},
		"no parent": {
			nil, emitsConfigMap("a"),
			"not pruned: not all intents were applied: invalid intent: the parent of the ApplySet must not be nil, but is <nil>(nil)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			round := newWorld(t).sets(apply.Policy{}).Apply(t.Context(), test.parent, test.emit)
			_, err := round.Prune(t.Context())
			if !errors.Is(err, applyset.ErrNotPruned) || len(round.Errs) != 1 || !errors.Is(err, round.Errs[0]) || err.Error() != test.says {
				t.Errorf("%v\nwant %s", err, test.says)
			}
		})
	}
	if _, err := (&applyset.Round{}).Prune(t.Context()); !errors.Is(err, applyset.ErrNotPruned) {
		t.Errorf("no round: %v", err)
	}
}

// An object that is emitted in part only is no member any more, and not deleted
// under that intent. It stays in sight.
func TestPruneKeepsWhatIsStillWrittenTo(t *testing.T) {
	w := newWorld(t)
	w.earlierRound(emits(apply.Intent{Config: deployment("b")}))
	sets := w.sets(apply.Policy{})
	round := sets.Apply(t.Context(), w.parent(), emits(part("b")))
	w.Must(errors.Join(round.Errs...))
	pruned, err := round.Prune(t.Context())
	const says = "Deployment shop/b is no longer desired, but was kept: a partial intent (MustExist or a Subresource) for the object is still desired"
	if err != nil || len(pruned.Deleted) > 0 || len(pruned.Kept) != 1 || pruned.Kept[0].String() != says {
		t.Errorf("%v, %+v", err, pruned)
	}
	w.WantSent(reads, announces, "PATCH deployments/b/status", "GET deployments by label")
}
