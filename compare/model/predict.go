package model

import (
	"strconv"

	"coapply.dev/compare/results"
)

// repeats of a simulated trial: while fitting, and for what is shown.
const (
	repeatsToFit  = 4
	repeatsToShow = 20
)

// prediction is the mean of simulated trials.
type prediction struct {
	goodput, stale, giveUps float64 // goodput by second
	window                  float64 // mean, in milliseconds
}

func (s scene) predict(repeats int) prediction {
	var sum outcome
	for i := range repeats {
		trial := s
		trial.seed += uint64(i)
		o := trial.simulate()
		sum.landed, sum.ended, sum.gaveUp = sum.landed+o.landed, sum.ended+o.ended, sum.gaveUp+o.gaveUp
		sum.attempts, sum.stale, sum.window = sum.attempts+o.attempts, sum.stale+o.stale, sum.window+o.window
	}
	return prediction{
		goodput: 1000 * float64(sum.landed) / (s.duration * float64(repeats)),
		stale:   share(float64(sum.stale), float64(sum.attempts)),
		giveUps: share(float64(sum.gaveUp), float64(sum.ended)),
		window:  share(sum.window, float64(sum.attempts)),
	}
}

// as measured: the trials are as long as the real ones, because with many writers that is too short for a steady state.
func (m armModel) as(c cell, repeats int, seed uint64) prediction {
	t := c.trials[0]
	return m.scene(c.place, milliseconds(t.Warmup), milliseconds(t.Measured), seed).predict(repeats)
}

// point is the prediction as it is shown. The band is of the window as it is with so many writers on the machine; in lanes
// one of them is there at a time.
func (m armModel) point(p prediction, at place) results.ModelPoint {
	point := results.ModelPoint{
		Arm: m.name, Writers: at.writers, RTTms: milliseconds(at.rtt),
		Goodput: short(p.goodput), Stale: short(p.stale), GiveUps: short(p.giveUps),
	}
	if p.window > 0 {
		racing := at.writers
		if m.policy.lanes {
			racing = 1
		}
		lo, hi := Loop{Writers: racing, Window: p.window}.Band()
		point.BandLo, point.BandHi = short(1000*lo), short(1000*hi)
	}
	return point
}

// compare gives the measured cell beside its prediction.
func (m armModel) compare(c cell, seed uint64) results.ModelCell {
	p := m.as(c, repeatsToShow, seed)
	measured := c.goodput()
	return results.ModelCell{
		ModelPoint: m.point(p, c.place), Managers: c.managers, Measured: short(measured), Error: short(p.goodput/measured - 1),
		MeasuredStale: c.stale(), MeasuredGiveUps: c.giveUps(),
	}
}

// short has six digits: processors differ in the last ones of a float64, and a report is to be the same on each.
func short(x float64) float64 {
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 6, 64), 64) // it is a number
	return rounded
}
