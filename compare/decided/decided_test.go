package decided

import "testing"

func TestNow(t *testing.T) {
	if len(Now.Primary) == 0 || len(Now.Situations) == 0 || len(Hash()) != 64 {
		t.Errorf("%+v, %s", Now, Hash())
	}
	if why := Now.ExpectedLoss("apply-2", "increment"); why == "" || !Now.Applies("apply-2") {
		t.Error("a variant of apply is expected to keep increments")
	}
	if why := Now.ExpectedLoss("apply", "hot-object"); why != "" {
		t.Errorf("an apply is expected to lose updates: %s", why)
	}
}
