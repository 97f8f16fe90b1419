package statistics

import "testing"

func TestWord(t *testing.T) {
	for _, c := range []struct {
		reason string
		r      Ratio
		p      float64
		want   string
	}{
		{"beyond the margin, without 1", Ratio{N: 10, Ratio: 1.5, Lo: 1.4, Hi: 1.6}, 0.002, Faster},
		{"the same, the other way round", Ratio{N: 10, Ratio: 0.66, Lo: 0.6, Hi: 0.7}, 0.002, Slower},
		{"one per cent is never faster, however sure", Ratio{N: 10, Ratio: 1.01, Lo: 1.009, Hi: 1.011}, 0.002, Equivalent},
		{"sure, within the margin, and the interval is not", Ratio{N: 10, Ratio: 1.04, Lo: 1.01, Hi: 1.07}, 0.002, NoDifference},
		{"the interval holds 1", Ratio{N: 10, Ratio: 1.1, Lo: 0.98, Hi: 1.2}, 0.1, NoDifference},
		{"chance among many comparisons", Ratio{N: 10, Ratio: 1.1, Lo: 1.02, Hi: 1.2}, 0.2, NoDifference},
		{"so wide that it shows nothing", Ratio{N: 10, Ratio: 1.1, Lo: 0.6, Hi: 2}, 0.4, Unstable},
		{"wide, and all of it beyond", Ratio{N: 10, Ratio: 8, Lo: 4, Hi: 16}, 0.002, Faster},
		{"wide, and all of it beyond, below", Ratio{N: 10, Ratio: 1.0 / 8, Lo: 1.0 / 16, Hi: 0.25}, 0.002, Slower},
		{"too few blocks", Ratio{N: 5, Ratio: 8, Lo: 4, Hi: 16}, 0.06, NoVerdict},
		{"no interval", Ratio{N: 10, Ratio: 8}, 0.002, NoVerdict},
	} {
		word, why := Word(c.r, c.p, 0.05)
		if word != c.want {
			t.Errorf("%s: %s, want %s", c.reason, word, c.want)
		}
		if (word == NoVerdict || word == Unstable) && why == "" {
			t.Errorf("%s: no reason", c.reason)
		}
	}
}

func TestPairedRefuses(t *testing.T) {
	for reason, pairs := range map[string][2][]float64{
		"nothing landed":   {{1, 0}, {1, 1}},
		"no pairs":         {nil, nil},
		"half a pair":      {{1, 2}, {1}},
		"nothing to go by": {{1, 1}, {0, 1}},
	} {
		if r, err := Paired(pairs[0], pairs[1], 1); err == nil {
			t.Errorf("%s: %+v", reason, r)
		}
	}
	if r, err := Paired([]float64{2, 8}, []float64{1, 1}, 1); err != nil || r.Ratio < 3.999 || r.Ratio > 4.001 || r.Lo != 0 {
		t.Errorf("two pairs: %+v, %v", r, err)
	}
}
