package audit

import (
	"fmt"
	"time"

	"coapply.dev/cmd/kubectl-fieldowners/internal/console"
	"coapply.dev/cmd/kubectl-fieldowners/internal/view"
)

// progress shows on one line of a terminal how far an audit is. A bar would need a total, which the
// server returns for one kind at a time, and not for every kind.
type progress struct {
	out      *console.StatusLine // nil if nothing is shown
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

// page shows how many objects of the kind were read and, if the server says so, how many
// remain.
func (p *progress) page(objects int, remaining *int64) {
	text := fmt.Sprintf(": %d objects", objects)
	if remaining != nil {
		text = fmt.Sprintf(": %d of %d objects", objects, int64(objects)+*remaining)
	}
	p.say(text)
}

func (p *progress) say(text string) {
	if p.out == nil || time.Since(p.lastSaid) < saySeldom {
		return
	}
	p.lastSaid = time.Now()
	line := fmt.Sprintf("reading %s%s (kind %d of %d)", view.Safe(p.kind), text, p.number, p.kinds)
	p.out.Show(view.Shorten(line, p.width-1))
}

// end removes the line.
func (p *progress) end() {
	if p.out != nil {
		p.out.Show("")
	}
}
