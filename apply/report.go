package apply

import "time"

// end is step 8: one outcome and one observation.
func (c *call) end(action Action, err error) (Outcome, error) {
	outcome := Outcome{
		Action:    action,
		Object:    c.ref,
		Requests:  c.exchange.Requests(),
		Attempts:  c.attempts,
		Conflicts: c.conflicts,
		Differ:    c.differ,
		Shared:    c.shared,
		TakenBack: c.takenBack,
		Unread:    c.unread,
	}
	c.report(outcome, err, time.Since(c.start))
	return outcome, err
}

func (c *call) report(outcome Outcome, err error, took time.Duration) {
	result := string(outcome.Action)
	if err != nil {
		result = ResultOf(err)
	}
	decided := map[Decision]int{}
	for _, conflict := range outcome.Conflicts {
		if !conflict.Remembered {
			decided[conflict.Decision]++
		}
	}
	c.metrics.ObserveApply(ApplyObservation{
		FieldManager: c.config.FieldManager,
		Kind:         c.ref.GroupVersionKind,
		Object:       c.ref,
		Result:       result,
		Requests:     outcome.Requests,
		Attempts:     outcome.Attempts,
		Conflicts:    decided,
		Duration:     took,
		Waited:       c.waited,
	})
}
