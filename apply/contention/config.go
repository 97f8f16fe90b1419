package contention

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"coapply.dev/fieldowners"
)

// DefaultPerMinute is the default of Config.PerMinute, as in Config Sync (KNV2005).
const DefaultPerMinute = 5

// FieldManager applies the condition Contended. It is never counted in a loop.
const FieldManager = "coapply-fights"

// Condition is the type of the condition that reports troubles on an object.
const Condition = "Contended"

// window is the sliding time in which writes are counted, for fights, loops and unknown
// writers.
const window = time.Minute

// Config configures a State. Zero values have defaults.
type Config struct {
	// Ours reports whether a field manager is one of ours: of this process, or of another one
	// of the same owner. With nil these are the managers for which State.Guard was called.
	Ours func(manager string) bool
	// HowToStop returns how to make a manager of ours leave a field. If it is nil or returns
	// "", State.HowToStop has a general text.
	HowToStop func(fieldowners.Manager) string
	// PerMinute is how often a field may go from one manager to the other and back in
	// a minute, each way counted, before it is a fight.
	PerMinute int
	// CoolDown is how long ours leaves a contested field alone at first; 0 means a minute. It
	// doubles up to MaxCoolDown; 0 means an hour. Up to a fifth is added at random.
	CoolDown, MaxCoolDown time.Duration
	// Trial is after what time the fight is over, if ours keeps the field or nobody wants to
	// force it; 0 means two minutes. It has to be longer than the wait after a rejected
	// conflict (package apply/reconciler), or the fight is over before the next try.
	Trial time.Duration
	// Turns is how many writes in a minute of two of our managers, in turn, are a loop; 0 means
	// 20.
	Turns int

	now    func() time.Time
	jitter func(time.Duration) time.Duration
}

func (c *Config) complete() error {
	for _, d := range []struct {
		value        *time.Duration
		otherwise    time.Duration
		name, reason string
	}{
		{&c.CoolDown, time.Minute, "CoolDown", "how long ours leaves a contested field alone"},
		{&c.MaxCoolDown, time.Hour, "MaxCoolDown", "the longest cool-down"},
		{&c.Trial, 2 * time.Minute, "Trial", "how long a field has to stay ours"},
	} {
		if *d.value < 0 {
			return fmt.Errorf("%s: %v; %s must be above 0", d.name, *d.value, d.reason)
		}
		if *d.value == 0 {
			*d.value = d.otherwise
		}
	}
	if c.PerMinute == 0 {
		c.PerMinute = DefaultPerMinute
	}
	if c.Turns == 0 {
		c.Turns = 20
	}
	if c.now == nil {
		c.now = time.Now
	}
	if c.jitter == nil {
		c.jitter = func(d time.Duration) time.Duration { return wait.Jitter(d, 0.2) }
	}
	return nil
}
