package summarytest

import (
	"math"

	"coapply.dev/compare"
)

// behaviour is what one intent of an arm costs in a cell, on average.
type behaviour struct {
	goodput  float64 // intents that land a second
	giveUp   float64 // share of intents
	reads    float64 // GET per intent
	stale    float64 // stale writes per intent, as the client sees them
	attempts float64 // of the server per acknowledged write
	cpu      float64 // milliseconds of the API server per intent
	verb     string
	noop     bool // nothing has to be sent
}

// behave makes up how an arm does in a cell. Contention costs each arm alike; managers cost Server-Side Apply most; who
// takes turns does so in one process.
func behave(arm string, p compare.Parameters) behaviour {
	n, k, rtt := float64(p.Writers)/float64(max(1, p.Objects)), float64(p.Managers), p.RTT.Seconds()*1000
	meeting := n // writers that get in each other's way
	if p.Processes > 1 && (arm == "gmu-lanes" || arm == "ssa-lanes" || arm == "apply" || arm == "update") {
		meeting = float64(p.Processes)
	} else if arm == "gmu-lanes" || arm == "ssa-lanes" || arm == "apply" || arm == "update" {
		meeting = 1
	}
	n = float64(p.Writers)
	apply := behaviour{verb: "APPLY", attempts: 1 + 0.18*(meeting-1), cpu: (1.1 + 0.1*k) * (1 + 0.03*(meeting-1))}
	update := behaviour{verb: "PUT", attempts: 1.05, reads: 1, cpu: 1.3 + 0.03*k}
	alone := 2.5 + 0.09*k
	retried := func(b behaviour, share, stale, slower float64) behaviour {
		b.giveUp, b.stale, b.reads = share, stale, b.reads*(1+stale)
		b.goodput = 1000 / ((2.8 + 0.02*k + rtt*1.5) * (1 + 0.19*(meeting-1)) * slower) * (1 - share)
		b.goodput = math.Min(b.goodput, n*1000/(2.8+2*rtt))
		b.cpu *= (1 + 0.5*stale) / (1 - share)
		return b
	}
	contended := 1 - 1/meeting
	switch arm {
	case "gmu", "gmu-replace", "naive":
		return retried(update, 0.95*contended, 0.95*contended, 1)
	case "gmu-default-retry":
		return retried(update, 0.65*contended*contended*contended, 3*contended, 1.05)
	case "gmu-requeue":
		return retried(update, 0, 1.5*contended, 1.6)
	case "gmu-unbounded", "patch-lock":
		return retried(update, 0, math.Max(0, 0.5*(meeting-1)), 1.1)
	case "gmu-cached":
		update.reads = 0.2
		return retried(update, 0.6*contended*contended*contended, 2.8*contended, 0.9)
	case "gmu-lanes", "update":
		update.goodput = min(n*1000/(2.8+0.02*k+2*rtt), 1000/(3.2+0.02*k+2*rtt))
		return update
	case "merge-patch", "put-no-rv":
		update.reads = 0
		return retried(update, 0, 0, 0.8)
	case "apply":
		apply.goodput = min(n*1000/(alone+rtt), 1000/(2.4+0.09*k))
	case "ssa-lanes":
		apply.goodput = min(n*1000/(alone+rtt), 1000/(2.6+0.09*k+rtt))
	default: // ssa and what is sent as it
		apply.goodput = min(n*1000/(alone+rtt), 1000/(alone*(1+0.18*(meeting-1))))
	}
	return apply
}

// loses is the share of acknowledged values of a workload that an arm loses; those of increments are lost increments.
func loses(arm, workload string) float64 {
	switch {
	case arm == "put-no-rv", arm == "shared-manager":
		return 0.4
	case arm == "gmu-replace" && workload == "devbox-status":
		return 0.15
	case (arm == "ssa" || arm == "apply") && workload == "increment":
		return 0.3
	}
	return 0
}
