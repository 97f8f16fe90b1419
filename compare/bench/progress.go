package bench

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"coapply.dev/compare"
	"coapply.dev/compare/results"
)

// linePeriod is how often a run that is not watched on a terminal says where it is.
const linePeriod = 15 * time.Second

// progress says where a run is and how long it still takes: by what the estimate says of the trials to come, corrected
// by how the estimate has done so far.
type progress struct {
	out     io.Writer
	bar     *progressbar.ProgressBar // nil: lines instead
	started time.Time
	said    time.Time
	done    int
	voided  int
	ahead   []time.Duration // by number: the estimate of that trial and all after it
}

func startProgress(out io.Writer, plan []results.PlannedCell, steps []step) *progress {
	p := &progress{out: out, started: time.Now(), ahead: make([]time.Duration, len(steps)+1)}
	for i := len(steps) - 1; i >= 0; i-- {
		p.ahead[i] = p.ahead[i+1] + estimate(plan[steps[i].cell].Cell)
	}
	if file, ok := out.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		p.bar = progressbar.NewOptions(len(steps),
			progressbar.OptionSetWriter(out), progressbar.OptionSetPredictTime(false),
			progressbar.OptionShowCount(), progressbar.OptionFullWidth(), progressbar.OptionClearOnFinish())
	} else {
		p.line(fmt.Sprintf("%d trials, about %s", len(steps), round(p.left())))
	}
	return p
}

// left is how long the rest takes.
func (p *progress) left() time.Duration {
	ahead, behind := p.ahead[p.done], p.ahead[0]-p.ahead[p.done]
	if behind == 0 {
		return ahead
	}
	return time.Duration(float64(ahead) * float64(time.Since(p.started)) / float64(behind))
}

func (p *progress) begin(number int, cell compare.Cell, s step) {
	p.done = number
	if p.bar != nil {
		p.bar.Describe(fmt.Sprintf("%s left, %s %s", round(p.left()), cell, s.arm))
		_ = p.bar.Set(number) // a bar that cannot be drawn is no reason to stop
		return
	}
	if time.Since(p.said) >= linePeriod && number > 0 {
		p.line(fmt.Sprintf("%d of %d trials, %s left", number, len(p.ahead)-1, round(p.left())))
	}
}

func (p *progress) end(t results.Trial) {
	if t.Void != "" {
		p.voided++
		p.say(fmt.Sprintf("%s is void: %s", t.ID, t.Void))
	}
}

// say prints a line that is not to be missed.
func (p *progress) say(text string) {
	if p.bar != nil {
		_ = p.bar.Clear() // the line matters, the bar comes back
	}
	p.line(text)
}

func (p *progress) line(text string) {
	p.said = time.Now()
	fmt.Fprintln(p.out, text)
}

func (p *progress) stop() {
	if p.bar != nil {
		_ = p.bar.Finish() // only clears the line
	}
}

func round(d time.Duration) time.Duration {
	if d < time.Minute {
		return d.Round(time.Second)
	}
	return d.Round(10 * time.Second)
}
