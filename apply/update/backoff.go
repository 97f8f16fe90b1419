package update

import (
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
)

// Ready-made backoffs. Steps is the number of attempts, one more than the number of waits.
// Jitter lengthens a wait by up to its share and never shortens it. A Cap also ends the
// attempts: at the first wait that would exceed it.
var (
	// Default is the backoff of an Updater whose Config has none: 10 attempts. The waits begin at
	// 10 to 20 ms and grow by half each time, 0.75 to 1.5 s in all. Where several processes write a
	// status at once, the 5 attempts of DefaultRetry run out on a busy server.
	Default = wait.Backoff{Steps: 10, Duration: 10 * time.Millisecond, Factor: 1.5, Jitter: 1}

	// DefaultRetry is client-go's: 5 attempts, each wait 10 to 11 ms. For many
	// clients that write to one object a few times.
	DefaultRetry = retry.DefaultRetry

	// DefaultBackoff is client-go's: 4 attempts with waits of 10, 50 and 250 ms, each up to 10
	// % longer. For an object that one controller mostly owns. A fourth wait of 1250 ms, which
	// is sometimes quoted, never happens: it would come before a fifth attempt.
	DefaultBackoff = retry.DefaultBackoff

	// Exponential makes 4 attempts with waits of 100, 200 and 400 ms, 700 ms in all.
	// For objects that are written to all the time, such as nodes. Writers that start
	// together stay together without jitter: set it where there are many of them.
	Exponential = wait.Backoff{Steps: 4, Duration: 100 * time.Millisecond, Factor: 2}
)

// Immediate returns a backoff of this many attempts without waits.
func Immediate(steps int) wait.Backoff {
	return wait.Backoff{Steps: steps}
}

// Fixed returns a backoff of this many attempts with the same wait between them.
func Fixed(between time.Duration, steps int) wait.Backoff {
	return wait.Backoff{Steps: steps, Duration: between}
}
