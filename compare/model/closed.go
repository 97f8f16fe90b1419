package model

import "math"

// Loop is n closed-loop writers of one object as the closed forms see them. All times are in one unit; goodput is by it.
type Loop struct {
	Writers int
	// Before is from the start of an attempt until it reads, Window from there until its write is checked: it fails if
	// another write landed meanwhile. Backoff follows a failure, Think a success.
	Before, Window, Backoff, Think float64
}

// Poisson is the goodput if writes land at random moments, after Kung and Robinson, "On Optimistic Methods for
// Concurrency Control" (1981): an attempt fails with p = 1 - exp(-X·W·(n-1)/n), and X = n / (Z + (a + W + B·p) / (1-p)).
func (l Loop) Poisson() float64 {
	n := float64(l.Writers)
	others := l.Window * (n - 1) / n
	if l.Think == 0 && l.Backoff == 0 && others > 0 {
		return LambertW(n*others/(l.Before+l.Window)) / others
	}
	return root(n/(l.Think+l.Before+l.Window), func(x float64) float64 {
		p := -math.Expm1(-x * others)
		return n - x*(l.Think+(l.Before+l.Window+l.Backoff*p)/(1-p))
	})
}

// Renewal is the goodput if every window is equally long: a winner has read after the landing before its own, so that
// 1/X = W + 1/A with A = n / (a + W + p·B + (1-p)·Z) attempts by time and p = 1 - X/A. It is never above 1/W.
func (l Loop) Renewal() float64 {
	n := float64(l.Writers)
	// The two equations make (B-Z)·W·X² + (n·W + a + W + Z)·X - n = 0.
	return root(1/l.Window, func(x float64) float64 {
		return n - x*(n*l.Window+l.Before+l.Window+l.Think) - x*x*(l.Backoff-l.Think)*l.Window
	})
}

// Band is what Franaszek and Robinson, "Limitations of Concurrency in Transaction Processing" (1985), leave possible where
// every two attempts are in each other's way: on average between 1 and 1 + ln n attempts are of use at once.
func (l Loop) Band() (lo, hi float64) {
	return 1 / l.Window, (1 + math.Log(float64(l.Writers))) / l.Window
}

// GiveUps is the share of intents that so many attempts do not save, if attempts fail independently with p. For few
// writers that is too low: who has failed once is likely to fail again.
func GiveUps(p float64, attempts int) float64 { return math.Pow(p, float64(attempts)) }

// LambertW is the principal branch for x >= 0: w with w·exp(w) = x. Halley's iteration, as in Corless et al., "On the
// Lambert W Function" (1996), 5.9.
func LambertW(x float64) float64 {
	w := math.Log1p(x)
	for range 50 {
		e := math.Exp(w)
		f := w*e - x
		step := f / (e*(w+1) - (w+2)*f/(2*w+2))
		w -= step
		if math.Abs(step) <= 1e-15*(1+math.Abs(w)) {
			break
		}
	}
	return w
}

// root of a function that falls from above 0 at 0 to at most 0 at hi.
func root(hi float64, f func(float64) float64) float64 {
	lo := 0.0
	for range 200 {
		middle := (lo + hi) / 2
		if f(middle) > 0 {
			lo = middle
		} else {
			hi = middle
		}
	}
	return (lo + hi) / 2
}
