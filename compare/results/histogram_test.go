package results

import (
	"math"
	"testing"
)

func encoded(t *testing.T, microseconds ...int64) string {
	t.Helper()
	h := NewHistogram()
	for _, us := range microseconds {
		if err := h.RecordValue(us); err != nil {
			t.Fatal(err)
		}
	}
	s, err := EncodeHistogram(h)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestPercentilesWithGiveUps(t *testing.T) {
	for _, c := range []struct {
		reason    string
		latencies []Latency
		p50, p99  float64 // 0 is none
	}{
		{"all landed", []Latency{{Histogram: encoded(t, 1000, 2000, 3000)}}, 2, 3},
		{"two trials are one distribution", []Latency{{Histogram: encoded(t, 1000)}, {Histogram: encoded(t, 3000, 5000)}}, 3, 5},
		{"one in ten gave up: no p99", []Latency{{encoded(t, 1, 1, 1, 1, 1000, 1000, 1000, 1000, 1000), 1}}, 1, 0},
		{"most gave up: no median", []Latency{{encoded(t, 1000, 2000), 3}}, 0, 0},
		{"none landed", []Latency{{"", 3}}, 0, 0},
		{"none at all", nil, 0, 0},
	} {
		d, err := Merge(c.latencies...)
		if err != nil {
			t.Fatal(err)
		}
		for name, pair := range map[string]struct {
			got  *float64
			want float64
		}{"p50": {d.Percentile(50), c.p50}, "p99": {d.Percentile(99), c.p99}} {
			if (pair.got == nil) != (pair.want == 0) || pair.got != nil && math.Abs(*pair.got/pair.want-1) > 0.001 {
				t.Errorf("%s: %s is %v, want %v", c.reason, name, pair.got, pair.want)
			}
		}
	}
}

func TestMergeRefuses(t *testing.T) {
	for _, bad := range []string{"x", "AAAA", encoded(t, 1000)[:20], "HISTFAAAAvB4nA=="} {
		if _, err := Merge(Latency{}, Latency{Histogram: bad}); err == nil {
			t.Errorf("%q is taken for a histogram", bad)
		} else {
			wants(t, err, "latency histogram 2")
		}
	}
}
