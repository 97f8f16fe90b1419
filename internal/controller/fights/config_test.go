package fights

import (
	"testing"

	"coapply.dev/apply/contention"
	"coapply.dev/fieldowners"
)

// TestHowToStop: each manager of ours has an instruction that works for it.
func TestHowToStop(t *testing.T) {
	const byApply = "Apply"
	state, err := contention.New(Config())
	if err != nil {
		t.Fatal(err)
	}
	for want, m := range map[string]fieldowners.Manager{
		"coapply-devbox-power: set spec.state of the Devbox to what is wanted, or start this manager with --replicas-conflict=Reject": {
			Name: "coapply-devbox-power", Operation: byApply},
		`coapply-user: change the spec of the object that it reconciles, or pause that object with the annotation coapply.dev/paused: "true"`: {
			Name: "coapply-user", Operation: byApply},
	} {
		if got := state.HowToStop(m); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
