package summarytest

import (
	"reflect"
	"testing"
)

// TestSame: who renders a run twice gets the same bytes, so it has to be the same run.
func TestSame(t *testing.T) {
	run, trials := Run(2)
	again, more := Run(2)
	if !reflect.DeepEqual(run, again) || !reflect.DeepEqual(trials, more) {
		t.Error("two runs differ")
	}
}
