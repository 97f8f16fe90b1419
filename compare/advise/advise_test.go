package advise

import (
	"strings"
	"testing"
	"time"

	"coapply.dev/compare/summary"
	"coapply.dev/compare/summary/summarytest"
)

func TestLayers(t *testing.T) {
	for _, c := range []struct {
		reason string
		write  Write
		want   string
	}{
		{"a create by name needs nothing", Write{}, ""},
		{"a status write", Write{Updates: true, Repeatable: true}, "resourceVersion retry"},
		{"what cannot be repeated goes back to the queue", Write{Updates: true}, "resourceVersion"},
		{"pods of a set, counted in the cache", Write{Cached: true, Counts: true}, "deep copy expectations"},
		{"all of it", Write{true, true, true, true}, "deep copy resourceVersion retry expectations"},
	} {
		var needed []string
		for _, l := range Layers(c.write) {
			if l.Needed {
				needed = append(needed, l.Name)
			}
			if l.Why == "" {
				t.Errorf("%s: %s has no reason", c.reason, l.Name)
			}
		}
		if got := strings.Join(needed, " "); got != c.want {
			t.Errorf("%s: %q, want %q", c.reason, got, c.want)
		}
	}
}

func TestFor(t *testing.T) {
	run, trials := summarytest.Run(10)
	s := summary.Of(run, trials)
	for _, c := range []struct {
		reason    string
		situation Situation
		cell      string // or what the error says
		exact     bool
	}{
		{"the very cell", Situation{Writers: 16, Processes: 1, Objects: 1, Managers: 4}, "hot-object w16 m4", true},
		{"near enough", Situation{Writers: 20, Processes: 1, Objects: 1, Managers: 4, RTT: time.Millisecond}, "hot-object w16 m4", false},
		{"several processes", Situation{Writers: 4, Processes: 4, Objects: 1, Managers: 4, RTT: time.Millisecond}, "hot-object w4 m4 p4 rtt1ms", true},
		{"another round trip", Situation{Writers: 4, Processes: 1, Objects: 1, Managers: 4, RTT: 6 * time.Millisecond}, "hot-object w4 m4 rtt5ms", false},
		{"too many writers", Situation{Writers: 1000, Processes: 1, Objects: 1, Managers: 4}, "nothing similar was measured", false},
		{"a slow network", Situation{Writers: 4, Processes: 1, Objects: 1, Managers: 4, RTT: time.Second}, "nothing similar was measured", false},
		{"many objects", Situation{Writers: 4, Processes: 1, Objects: 64, Managers: 4}, "nothing similar was measured", false},
	} {
		advice, err := For(s, c.situation)
		switch {
		case strings.HasPrefix(c.cell, "nothing"):
			if err == nil || !strings.Contains(err.Error(), c.cell) {
				t.Errorf("%s: %v", c.reason, err)
			}
		case err != nil || advice.Situation.Cell != c.cell || advice.Exact != c.exact:
			t.Errorf("%s: %s, exact %v, %v", c.reason, advice.Situation.Cell, advice.Exact, err)
		case len(advice.Situation.Use) == 0 || advice.Rows[0].Arm != advice.Situation.Use[0] || len(advice.Rows) != 9:
			t.Errorf("%s: use %q, %d arms", c.reason, advice.Situation.Use, len(advice.Rows))
		}
	}
	s.Void = "nothing shows that the oracle finds lost updates"
	if _, err := For(s, Situation{Writers: 16, Processes: 1, Objects: 1, Managers: 4}); err == nil {
		t.Error("a void run advises")
	}
}
