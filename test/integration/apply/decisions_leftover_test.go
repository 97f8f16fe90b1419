package apply

import (
	"testing"

	"coapply.dev/apply"
	"coapply.dev/test/kit"
)

// TestWhatWasLeftIsNoLongerValid: another manager took away what the rest of the intent stands on.
// Then the whole of it is sent.
func TestWhatWasLeftIsNoLongerValid(t *testing.T) {
	const ours = `{spec: {template: {spec: {containers: [{name: side, image: ours, tty: true}]}}}}`
	const side = `.spec.template.spec.containers[name="side"]`
	s := ask(t, "Deployment", `{spec: {template: {spec: {containers: [{name: side, image: theirs}]}}}}`, apply.OnConflict(apply.Relinquish), []asked{
		{reason: "found", ours: ours, sends: sendsThree, found: []string{side + ".image other Relinquish"}, leaves: []string{side + ".name", side + ".tty"}},
		{reason: "remembered", ours: ours, sends: asksAgain, found: []string{side + ".image other Relinquish remembered"}, leaves: []string{side + ".name", side + ".tty"}},
		{
			reason: "someone removes the container", ours: ours, sends: sendsTwo,
			happens: func(s *kit.Stage) {
				object := s.Live()
				containers, _ := s.Value(".spec.template.spec.containers").([]any)
				object.Object["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)["containers"] = containers[:1]
				s.Put("third", object)
			},
			leaves: []string{side + ".image", side + ".name", side + ".tty"},
		},
	})
	if got := s.Value(side + ".image"); got != "ours" {
		t.Errorf("the image is %v, want ours", got)
	}
}
