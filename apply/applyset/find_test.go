package applyset_test

import (
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"coapply.dev/apply"
)

// TestWhereMembersAreLookedFor: in the parent's namespace and in those that it names; those of a kind that has no
// namespaces are asked for once.
func TestWhereMembersAreLookedFor(t *testing.T) {
	const namespacesName = "applyset.kubernetes.io/additional-namespaces"
	const query = "?labelSelector=members&limit=500"
	none := func(path string) step { return step{"GET " + path + query, page("")} }
	notServed := step{lists, fail(apierrors.NewNotFound(configMaps, ""))}
	for reason, test := range map[string]struct {
		kinds, namespaces string
		steps             []step
		stays             bool // recorded, as nobody knows what is there
	}{
		"the parent's namespace":           {kinds: "ConfigMap", steps: []step{none("configmaps")}},
		"others, too":                      {kinds: "ConfigMap", namespaces: "x,y", steps: []step{none("configmaps"), none("/api/v1/namespaces/x/configmaps"), none("/api/v1/namespaces/y/configmaps")}},
		"a kind without namespaces":        {kinds: "Namespace", namespaces: "x,y", steps: []step{none("/api/v1/namespaces")}},
		"several kinds":                    {kinds: "ConfigMap,Secret", steps: []step{none("configmaps"), none("secrets")}},
		"a kind that is served no more":    {kinds: "Widget.example.com"},
		"a version that is served no more": {kinds: "ConfigMap", namespaces: "x", steps: []step{notServed}, stays: true},
	} {
		t.Run(reason, func(t *testing.T) {
			parent, going := setParent(test.kinds), goingParent(test.kinds)
			if test.namespaces != "" {
				parent.Annotations[namespacesName], going.Annotations[namespacesName] = test.namespaces, test.namespaces
			}
			s := newSetScript(t)
			s.expect(step{reads, ok(parent)})
			round := s.sets(apply.Policy{}).Apply(t.Context(), parent, emits())
			if err := errors.Join(round.Errs...); err != nil {
				t.Fatal(err)
			}
			s.expect(test.steps...)
			if !test.stays {
				s.steps = append(s.steps, step{announces(""), ok(setParent(""))})
			}
			if _, err := round.Prune(t.Context()); err != nil {
				t.Error(err)
			}
			s.expect(append([]step{{reads, ok(going)}}, test.steps...)...)
			_, done, err := s.sets(apply.Policy{}).Delete(t.Context(), going)
			if done == test.stays || errors.Is(err, apply.ErrRetryable) != test.stays || test.stays && !strings.Contains(err.Error(), "no version of ConfigMap") {
				t.Errorf("deleted with the parent: %t, %v", done, err)
			}
		})
	}
}
