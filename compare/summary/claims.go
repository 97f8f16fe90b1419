package summary

import "coapply.dev/compare/results"

func (r *reckoning) claims() []results.ClaimCheck { return []results.ClaimCheck{} }
