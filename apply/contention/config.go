package contention

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"coapply.dev/fieldowners"
)

// DefaultPerMinute is the default of Config.PerMinute, as in Config Sync (KNV2005).
const DefaultPerMinute = 5

// FieldManager applies the condition Contended. It answers no one, and is in no loop.
const FieldManager = "coapply-fights"

// Condition is the type of the condition that says of an object what goes on about it.
const Condition = "Contended"

// window is the sliding time in which writes are counted, as that of fights and loops.
const window = time.Minute

// Config configures a State. Zero values have defaults.
type Config struct {
	// Ours reports whether a field manager is one of ours: of this process, or of another
	// one of the same owner. nil knows those that State.Guard was called for.
	Ours func(manager string) bool
	// HowToStop says how a manager of ours is brought to leave a field; "" or nil leaves
	// that to State.HowToStop.
	HowToStop func(fieldowners.Manager) string
	// PerMinute is how often a field may go from one manager to the other and back in
	// a minute, each way counted, before it is a fight.
	PerMinute int
	// CoolDown is how long ours leaves a contested field alone at first, a minute, and
	// MaxCoolDown, an hour, what doubling that ends at. Up to a fifth is added by
	// chance.
	CoolDown, MaxCoolDown time.Duration
	// Trial is how long ours has to keep a field until the fight is over, and how long
	// nobody may want to force it: two minutes. It has to be longer than a rejected
	// conflict waits until it is tried again (package apply/reconciler), or the fight is
	// over before the try.
	Trial time.Duration
	// Turns is how many writes of two of our managers, in turn, are a loop within a
	// minute: 20.
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
