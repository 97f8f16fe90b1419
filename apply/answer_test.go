package apply

import "testing"

// TestAnswerOfNothing: what calls share that sent nothing is not written to.
func TestAnswerOfNothing(t *testing.T) {
	for action := range ends {
		answer := nothingSent(action)
		if len(answer.head().ManagedFields) > 0 || answer.read != nil {
			t.Errorf("%s: %+v", action, answer)
		}
	}
}
