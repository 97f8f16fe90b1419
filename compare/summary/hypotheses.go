package summary

import "coapply.dev/compare/results"

func (r *reckoning) hypotheses() []results.Hypothesis { return []results.Hypothesis{} }
