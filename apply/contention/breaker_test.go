package contention

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

// sameJitter adds nothing.
func sameJitter(d time.Duration) time.Duration { return d }

func testConfig(t *testing.T) Config {
	t.Helper()
	c := Config{jitter: sameJitter}
	if err := c.complete(); err != nil {
		t.Fatal(err)
	}
	return c
}

// did is what happens to a breaker, so many seconds after it opened.
type did struct {
	after    int
	what     string // asks, forced (as answered), taken (to ours), lost (from ours) or looks
	may      bool   // of asks
	reopened bool   // of lost
	phase    phase
}

func TestBreaker(t *testing.T) {
	for _, test := range []struct {
		reason string
		steps  []did
	}{
		{"ours does not force before the cool-down is over", []did{
			{0, "asks", false, false, open}, {59, "asks", false, false, open}, {60, "asks", true, false, halfOpen},
		}},
		{"one force: several looks at one conflict, and none once ours has the field", []did{
			{60, "asks", true, false, halfOpen}, {60, "asks", true, false, halfOpen},
			{61, "taken", false, false, onTrial}, {61, "asks", false, false, onTrial},
		}},
		{"one force: the answer tells before the watch does", []did{
			{60, "forced", false, false, halfOpen}, // of something else: nobody asked
			{60, "asks", true, false, halfOpen}, {61, "forced", false, false, onTrial}, {62, "asks", false, false, onTrial},
			{63, "taken", false, false, onTrial}, {63, "lost", false, true, open}, {182, "forced", false, false, open}, {183, "asks", true, false, halfOpen},
		}},
		{"one force: another answer makes the trial no longer", []did{
			{60, "asks", true, false, halfOpen}, {61, "forced", false, false, onTrial}, {100, "forced", false, false, onTrial},
			{180, "looks", false, false, onTrial}, {181, "looks", false, false, over}, {182, "forced", false, false, over},
		}},
		{"it stays ours: over", []did{
			{60, "asks", true, false, halfOpen}, {61, "taken", false, false, onTrial},
			{180, "looks", false, false, onTrial}, {181, "looks", false, false, over}, {181, "asks", true, false, over},
		}},
		{"taken back: open at once, for twice as long", []did{
			{60, "taken", false, false, onTrial}, {62, "lost", false, true, open},
			{62 + 119, "asks", false, false, open}, {62 + 120, "asks", true, false, halfOpen},
		}},
		{"the cool-down doubles to its maximum", []did{
			{60, "taken", false, false, onTrial}, {60, "lost", false, true, open}, // 120
			{180, "taken", false, false, onTrial}, {180, "lost", false, true, open}, // 240
			{420, "taken", false, false, onTrial}, {420, "lost", false, true, open}, // 480
			{900, "taken", false, false, onTrial}, {900, "lost", false, true, open}, // 960
			{1860, "taken", false, false, onTrial}, {1860, "lost", false, true, open}, // 1920
			{3780, "taken", false, false, onTrial}, {3780, "lost", false, true, open}, // an hour, not 3840
			{3780 + 3599, "asks", false, false, open}, {3780 + 3600, "asks", true, false, halfOpen},
			{7380, "taken", false, false, onTrial}, {7380, "lost", false, true, open},
			{7380 + 3600, "asks", true, false, halfOpen},
		}},
		{"nobody wants to force it any more: over", []did{
			{60, "looks", false, false, halfOpen}, {179, "looks", false, false, halfOpen}, {180, "looks", false, false, over},
		}},
		{"somebody still tries to: not over", []did{
			{170, "asks", true, false, halfOpen}, {280, "looks", false, false, halfOpen}, {290, "looks", false, false, over},
		}},
		{"moves while it is open, of a force that was on its way, change nothing", []did{
			{1, "taken", false, false, open}, {2, "lost", false, false, open}, {60, "asks", true, false, halfOpen},
		}},
		{"moves that are not from ours or to ours change nothing", []did{
			{60, "lost", false, false, halfOpen}, {61, "taken", false, false, onTrial}, {62, "taken", false, false, onTrial},
		}},
		{"nobody looked for long: over", []did{{10_000, "asks", true, false, over}}},
		{"of two of ours one forced it, and the other was about to", []did{
			{60, "between", false, false, onTrial}, {60, "between", false, true, open},
		}},
	} {
		config := testConfig(t)
		start := time.Unix(0, 0)
		b := newBreaker(&config, start)
		for i, step := range test.steps {
			now := start.Add(time.Duration(step.after) * time.Second)
			var may, reopened bool
			switch step.what {
			case "asks":
				may = b.mayForce(now)
			case "forced":
				b.forced(now)
			case "taken":
				reopened = b.moved(true, false, now)
			case "lost":
				reopened = b.moved(false, true, now)
			case "between":
				reopened = b.moved(true, true, now)
			}
			if got := b.at(now); may != step.may || reopened != step.reopened || got != step.phase {
				t.Errorf("%s: step %d %+v: may %v, opened again %v, %s", test.reason, i, step, may, reopened, got)
			}
		}
	}
}

func TestBreakerEnds(t *testing.T) {
	config := testConfig(t)
	start := time.Unix(0, 0)
	b := newBreaker(&config, start)
	if got := b.ends(start).Sub(start); got != 3*time.Minute {
		t.Errorf("open: ends after %v, want the cool-down and the trial", got)
	}
	if b.moved(true, false, start.Add(time.Minute)); b.at(b.ends(start.Add(time.Minute))) != over {
		t.Error("not over when it ends")
	}
}

func TestConfigRefuses(t *testing.T) {
	for want, c := range map[string]Config{
		"PerMinute: -1 moves": {PerMinute: -1}, "CoolDown: -1ns; ": {CoolDown: -1}, "MaxCoolDown: -1ns; ": {MaxCoolDown: -1},
		"Trial: -1ns; ": {Trial: -1}, "Turns: 1 turns": {Turns: 1},
	} {
		if s, err := New(c); err == nil || s != nil || !strings.HasPrefix(err.Error(), "contention: "+want) {
			t.Errorf("%+v: %v, want %q", c, err, want)
		}
	}
}

func TestConfigStays(t *testing.T) {
	want := Config{PerMinute: 3, CoolDown: 7, MaxCoolDown: 8, Trial: 9, Turns: 4}
	s, err := New(want)
	if err != nil {
		t.Fatal(err)
	}
	if got := (Config{PerMinute: s.PerMinute, CoolDown: s.CoolDown, MaxCoolDown: s.MaxCoolDown, Trial: s.Trial, Turns: s.Turns}); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v became %+v", want, got)
	}
}

func TestJitter(t *testing.T) {
	c := Config{}
	if err := c.complete(); err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if d := c.jitter(time.Minute); d < time.Minute || d > 72*time.Second {
			t.Fatalf("a minute became %v", d)
		}
	}
}
