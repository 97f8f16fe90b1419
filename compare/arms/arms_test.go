package arms

import (
	"context"
	"errors"
	"go/format"
	"slices"
	"strings"
	"testing"

	"coapply.dev/compare"
)

func TestAll(t *testing.T) {
	var names []string
	for _, arm := range All() {
		names = append(names, arm.Name)
		if arm.Summary == "" {
			t.Errorf("%s has no summary", arm.Name)
		}
	}
	want := []string{
		"gmu-default-retry", "gmu-requeue", "gmu-unbounded", "patch-lock", "gmu-lanes", "update",
		"ssa", "ssa-lanes", "apply", "apply-1", "apply-2", "apply-3", "apply-4",
		"naive", "expectations", "gmu-replace", "gmu-exponential",
		"put-no-rv", "shared-manager",
	}
	if !slices.Equal(names, want) {
		t.Errorf("names are in results and in commands of users:\n%q, want\n%q", names, want)
	}
	if err := (compare.Catalogue{Arms: All()}).Check(); err != nil {
		t.Error(err)
	}
}

// What the report shows is the code that runs, in whole functions, and no two arms show the same.
func TestSources(t *testing.T) {
	seen := map[string]string{}
	for _, arm := range All() {
		if other, ok := seen[arm.Source]; ok {
			t.Errorf("%s and %s show the same code", arm.Name, other)
		}
		seen[arm.Source] = arm.Name
		if formatted, err := format.Source([]byte(arm.Source)); err != nil || string(formatted) != arm.Source {
			t.Errorf("%s: no whole declarations (%v):\n%s", arm.Name, err, arm.Source)
		}
		if lines := strings.Count(arm.Source, "\n"); !strings.HasPrefix(arm.Source, "// ") || lines < 10 {
			t.Errorf("%s: %d lines, want the arm's function with its comment:\n%s", arm.Name, lines, arm.Source)
		}
	}
}

func TestSourceOfATypeHasItsMethods(t *testing.T) {
	code := source("appliers")
	for _, want := range []string{"// appliers are", "type appliers struct", "func (a *appliers) of("} {
		if !strings.Contains(code, want) {
			t.Errorf("no %q in\n%s", want, code)
		}
	}
	if strings.Contains(code, "func applier(") {
		t.Errorf("it shows more than the type:\n%s", code)
	}
	if got := source("appliers", "nothing"); got != "" {
		t.Errorf("a name that is not declared shows %q; a test could not find it", got)
	}
}

func TestPauseIsCalledOnce(t *testing.T) {
	calls := 0
	twice := writer(func(ctx context.Context, intent compare.Intent) (compare.Receipt, error) {
		return compare.Receipt{}, errors.Join(intent.Pause(ctx), intent.Pause(ctx))
	})
	if _, err := twice.Write(t.Context(), compare.Intent{Pause: func(context.Context) error { calls++; return nil }}); err != nil || calls != 1 {
		t.Errorf("%d calls, error %v", calls, err)
	}
	if _, err := twice.Write(t.Context(), compare.Intent{}); err != nil {
		t.Errorf("without a Pause: %v", err)
	}
}

func TestCacheIsNeeded(t *testing.T) {
	var missing []string
	for _, arm := range All() {
		if _, err := arm.New(compare.Session{}); (err != nil) != arm.Cached {
			t.Errorf("%s: Cached is %v, and without a cache New gives %v", arm.Name, arm.Cached, err)
		} else if err != nil {
			missing = append(missing, arm.Name)
		}
	}
	if want := []string{"gmu-requeue", "apply", "apply-1", "apply-2", "apply-3", "apply-4", "naive", "expectations"}; !slices.Equal(missing, want) {
		t.Errorf("a cache is needed by %q, want %q", missing, want)
	}
}
