package results

// Model is what the model of contention says of the run: fitted on some cells, checked on others that it did not see.
type Model struct {
	// Parameters by arm, as measured of one writer alone and as fitted; their names have the units. Arms that send the
	// same requests share those that are fitted.
	Parameters map[string]Numbers `json:"parameters"`
	Fitted     []ModelCell        `json:"fitted"`
	Checked    []ModelCell        `json:"checked"`
	// MedianError and WorstError are of the goodput of the checked cells, as shares; nil without such cells. Cells that
	// are Outside do not count.
	MedianError *float64 `json:"median_error"`
	WorstError  *float64 `json:"worst_error"`
	// Arms are accepted or not one by one.
	Arms map[string]ModelArm `json:"arms"`
	// Accepted says that at least one arm is; only of such arms is there an Extrapolation. Why says why of the others.
	Accepted      bool         `json:"accepted"`
	Why           string       `json:"why,omitempty"`
	Extrapolation []ModelPoint `json:"extrapolation,omitempty"`
	// ExtrapolatedManagers is how many field managers there are in Extrapolation.
	ExtrapolatedManagers int `json:"extrapolated_managers,omitempty"`
}

// ModelArm says how well the model predicts an arm in the cells that it did not see.
type ModelArm struct {
	// MedianError and WorstError are as those of Model.
	MedianError *float64 `json:"median_error"`
	WorstError  *float64 `json:"worst_error"`
	// Accepted says that both errors are within what was stated beforehand; otherwise Why says why.
	Accepted bool   `json:"accepted"`
	Why      string `json:"why,omitempty"`
}

// ModelCell is a measured cell beside what the model says.
type ModelCell struct {
	ModelPoint
	Managers int     `json:"managers"`
	Measured float64 `json:"measured_per_s"`
	// Error is the predicted goodput over the measured one, minus 1.
	Error float64 `json:"error"`
	// MeasuredStale is the share of attempts that were stale writes, those that the server repeats by itself included; nil
	// where the server does not tell. MeasuredGiveUps is the share of intents given up.
	MeasuredStale   *float64 `json:"measured_stale_share"`
	MeasuredGiveUps float64  `json:"measured_give_up_share"`
	// Outside says why the cell is none that the model is for, so that its error counts for nothing; "" if it counts.
	Outside string `json:"outside,omitempty"`
}

// ModelPoint is what the model predicts.
type ModelPoint struct {
	Arm     string  `json:"arm"`
	Writers int     `json:"writers"`
	RTTms   float64 `json:"rtt_ms"`
	Goodput float64 `json:"predicted_per_s"`
	// BandLo and BandHi are the closed-form band 1/W to (1 + ln n)/W, for the window W that there is with so many
	// writers on the machine. What does not race all the time stays below it.
	BandLo  float64 `json:"band_lo_per_s"`
	BandHi  float64 `json:"band_hi_per_s"`
	Stale   float64 `json:"predicted_stale_share"`
	GiveUps float64 `json:"predicted_give_up_share"`
}
