package model

import (
	"fmt"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat"

	"coapply.dev/compare/results"
)

// alone is what an arm's requests take while nobody else writes: measured, not fitted.
type alone struct {
	// read and write are of one intent of one writer, in milliseconds, by the number of managers. What the client does
	// between its requests is shared out among them.
	read, write   line
	reads, writes spread
	managers      []int // that were measured
}

// line is a time that grows with the number of managers.
type line struct{ first, each float64 } // of the first manager, and for each further one

func (l line) at(managers int) float64 { return l.first + l.each*float64(managers-1) }

// quantiles is how many values stand for a histogram.
const quantiles = 256

// aloneOf reckons with the cells of one writer without added round trip.
func aloneOf(cells []cell) (alone, error) {
	var a alone
	var managers, reads, writes []float64
	for _, c := range cells {
		if c.writers != 1 || c.rtt != 0 {
			continue
		}
		read, write, err := c.requests()
		if err != nil {
			return alone{}, err
		}
		if len(a.managers) == 0 {
			a.reads, a.writes = resample(read), resample(write)
		}
		// Nobody is in the way, so that an intent takes as long as it is until the next.
		intent := 1000 / c.goodput()
		part := read.sum() / (read.sum() + write.sum())
		a.managers = append(a.managers, c.managers)
		managers = append(managers, float64(c.managers-1))
		reads, writes = append(reads, intent*part), append(writes, intent*(1-part))
	}
	if len(a.managers) == 0 {
		return alone{}, fmt.Errorf("it was not measured with one writer alone")
	}
	a.read, a.write = through(managers, reads), through(managers, writes)
	return a, nil
}

// through is the line nearest to the points. Managers cost time or nothing.
func through(x, y []float64) line {
	if len(x) > 1 {
		if first, each := stat.LinearRegression(x, y, nil, false); each > 0 && first > 0 {
			return line{first, each}
		}
	}
	return line{first: stat.Mean(y, nil)}
}

// sample is the times of one kind of request, in microseconds.
type sample struct {
	times []float64 // at equally spaced quantiles
	count float64
}

func (s sample) sum() float64 {
	if len(s.times) == 0 {
		return 0
	}
	return s.count * stat.Mean(s.times, nil)
}

// requests gives the reads, none for Server-Side Apply, and the writes.
func (c cell) requests() (read, write sample, err error) {
	applies := policies[c.trials[0].Arm].applies
	if applies {
		write, err = c.sample("APPLY 200")
	} else if read, err = c.sample("GET 200"); err == nil {
		write, err = c.sample("PUT 200")
	}
	if err == nil && (write.count == 0 || !applies && read.count == 0 || c.goodput() == 0) {
		err = fmt.Errorf("nothing landed with one writer and %d managers", c.managers)
	}
	return read, write, err
}

func (c cell) sample(name string) (sample, error) {
	all := results.NewHistogram()
	for _, t := range c.trials {
		h, err := results.DecodeHistogram(t.Client.Requests[name].Histogram)
		if err != nil {
			return sample{}, fmt.Errorf("trial %s, %s: %w", t.ID, name, err)
		}
		all.Merge(h)
	}
	s := sample{count: float64(all.TotalCount())}
	if s.count > 0 {
		for i := range quantiles {
			s.times = append(s.times, float64(all.ValueAtPercentile(100*(float64(i)+0.5)/quantiles)))
		}
	}
	return s, nil
}

// resample draws from the sample, as shares of its mean.
func resample(s sample) spread {
	if len(s.times) == 0 {
		return func(*rand.Rand) float64 { return 1 }
	}
	mean := stat.Mean(s.times, nil)
	return func(r *rand.Rand) float64 { return s.times[r.IntN(len(s.times))] / mean }
}
