package contention

import (
	"testing"

	"coapply.dev/fieldowners"
)

// TestHowToStop: each manager has an instruction that works for it.
func TestHowToStop(t *testing.T) {
	const nothing = "; kubectl fieldowners release does nothing for an Update owner"
	state, err := New(Config{HowToStop: func(m fieldowners.Manager) string {
		if m.Name == "ours" {
			return "pause it"
		}
		return ""
	}})
	if err != nil {
		t.Fatal(err)
	}
	for want, m := range map[string]fieldowners.Manager{
		"ours: pause it": {Name: "ours", Operation: byApply},
		"ci: take the field out of what it applies; once it has stopped, kubectl fieldowners release gives up what it applied": {
			Name: "ci", Operation: byApply},
		"kubectl: end whatever runs kubectl scale" + nothing: {Name: "kubectl", Operation: byUpdate, Subresource: "scale"},
		"kube-controller-manager: change or delete the autoscaler" + nothing: {
			Name: "kube-controller-manager", Operation: byUpdate, Subresource: "scale"},
		"bot: change its configuration, or end it" + nothing:          {Name: "bot", Operation: byUpdate},
		"kubectl-edit: change its configuration, or end it" + nothing: {Name: "kubectl-edit", Operation: byUpdate},
	} {
		if got := state.HowToStop(m); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
