package commands

import (
	"strings"
	"testing"
)

func TestUnknownNamesTheNearest(t *testing.T) {
	names := []string{"gmu", "gmu-default-retry", "ssa", "ssa-force", "apply", "merge-patch"}
	for typed, want := range map[string]string{
		"sssa": "did you mean ssa?", "retry": "did you mean gmu-default-retry?", "aply": "did you mean apply?",
		"merge_patch": "did you mean merge-patch?", "kustomize": "no arm \"kustomize\"; see", "": "no arm \"\"; see",
	} {
		if got := unknown("arm", typed, names).Error(); !strings.Contains(got, want) {
			t.Errorf("%q: %s", typed, got)
		}
	}
}
