package results

// Goodput of a trial: intents that landed in the timed part and were found by the oracle, a second. The oracle judges
// the whole trial: the share of acknowledged intents that it found is taken for that of the timed part. It is nil where
// no time was measured.
func (t Trial) Goodput() *float64 {
	if t.Measured <= 0 {
		return nil
	}
	found := 1.0
	if t.Oracle.Acknowledged > 0 {
		found = float64(t.Oracle.Found) / float64(t.Oracle.Acknowledged)
	}
	goodput := float64(t.Timed.Landed) * found / t.Measured.Seconds()
	return &goodput
}
