package arms

import (
	"context"
	"errors"
	"slices"
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
		"ssa", "ssa-force", "ssa-lanes", "apply", "apply-force", "apply-relinquish", "apply-1", "apply-2", "apply-3", "apply-4",
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
