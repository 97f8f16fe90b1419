package audit

import (
	"fmt"
	"time"

	"coapply.dev/cmd/kubectl-fieldowners/internal/console"
	"coapply.dev/cmd/kubectl-fieldowners/internal/ownerview"
)

// progress shows on one line of a terminal how far an audit is. A bar would need a total, which the
// server returns for one kind at a time, and not for every kind.
type progress struct {
	out      *console.StatusLine // nil: nothing is shown
	width    int
	kind     string
	number   int // of the kind
	kinds    int
	lastSaid time.Time
}

const saySeldom = 100 * time.Millisecond

// begin reports that the next kind is being read.
func (p *progress) begin(kind string) {
	p.kind = kind
	p.number++
	p.say("")
}

// page shows how many objects of the kind were read and, where the server says, how
// many are still to come.
func (p *progress) page(objects int, remaining *int64) {
	text := fmt.Sprintf(": %d objects", objects)
	if remaining != nil {
		text = fmt.Sprintf(": %d of %d objects", objects, int64(objects)+*remaining)
	}
	p.say(text)
}

// look shows each second how long the kinds are still watched, until they are not.
func (p *progress) look(lookFor time.Duration, ended <-chan struct{}) {
	second := time.NewTicker(time.Second)
	defer second.Stop()
	for end := time.Now().Add(lookFor); ; {
		p.looking(time.Until(end))
		select {
		case <-ended:
			return
		case <-second.C:
		}
	}
}

// looking shows how long the kinds are still watched.
func (p *progress) looking(left time.Duration) {
	if p.out != nil {
		line := fmt.Sprintf("watching %d kinds for fights: %v left", p.kinds, max(0, left.Round(time.Second)))
		p.out.Show(ownerview.Shorten(line, p.width-1))
	}
}

func (p *progress) say(text string) {
	if p.out == nil || time.Since(p.lastSaid) < saySeldom {
		return
	}
	p.lastSaid = time.Now()
	line := fmt.Sprintf("reading %s%s (kind %d of %d)", ownerview.Safe(p.kind), text, p.number, p.kinds)
	p.out.Show(ownerview.Shorten(line, p.width-1))
}

// end takes the line away.
func (p *progress) end() {
	if p.out != nil {
		p.out.Show("")
	}
}
