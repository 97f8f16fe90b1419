package bench

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"coapply.dev/compare"
	"coapply.dev/compare/results"
)

// linePeriod is the time between two progress messages if the output is not a terminal.
const linePeriod = 15 * time.Second

// trust is the weight of the estimated times against the measured times. The remaining time is computed as if the run
// had begun with extra trials that took this time in total, exactly as estimated. The first measured trials, which say
// little about the other trials, therefore have little influence.
const trust = 20 * time.Second

// progress shows the progress and the remaining time of a run. The remaining time is estimated from the plan and then
// corrected by the measured speed. The methods are safe for concurrent use.
type progress struct {
	mu      sync.Mutex
	out     io.Writer
	bar     *progressbar.ProgressBar // nil if lines are printed instead
	width   func() int               // returns the width of the terminal
	started time.Time
	said    time.Time
	done    int
	voided  int
	stopped bool
	ahead   []time.Duration // for each trial, the estimated time of this and all later trials
}

func startProgress(out io.Writer, plan []results.PlannedCell, steps []step) *progress {
	p := &progress{out: out, started: time.Now(), ahead: make([]time.Duration, len(steps)+1)}
	for i := len(steps) - 1; i >= 0; i-- {
		p.ahead[i] = p.ahead[i+1] + estimate(plan[steps[i].cell].Cell)
	}
	p.line(fmt.Sprintf("%s, about %s", counted(len(steps)), round(p.left())))
	if file, ok := out.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		p.drawBar(func() int {
			width, _, err := term.GetSize(int(file.Fd()))
			if err != nil {
				return 80
			}
			return width
		})
	}
	return p
}

func (p *progress) drawBar(width func() int) {
	p.width = width
	p.bar = progressbar.NewOptions(len(p.ahead)-1,
		progressbar.OptionSetWriter(p.out), progressbar.OptionSetPredictTime(false), progressbar.OptionSetRenderBlankState(false),
		progressbar.OptionShowCount(), progressbar.OptionFullWidth(), progressbar.OptionClearOnFinish())
}

func (p *progress) left() time.Duration {
	ahead, behind := p.ahead[p.done], p.ahead[0]-p.ahead[p.done]
	return time.Duration(float64(ahead) * float64(time.Since(p.started)+trust) / float64(behind+trust))
}

// beside is the number of terminal columns that the bar, the percentage and the counts need beside the description.
const beside = 36

func (p *progress) begin(number int, cell compare.Cell, s step) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done = number
	switch {
	case p.bar != nil:
		what := fmt.Sprintf("%s left, %s %s", round(p.left()), cell, s.arm)
		p.bar.Describe(text.Snip(what, max(p.width()-beside, 10), "…"))
		_ = p.bar.Set(number) // an error in drawing the bar does not matter
	case time.Since(p.said) >= linePeriod:
		p.line(fmt.Sprintf("%d of %s, %s left", number, counted(len(p.ahead)-1), round(p.left())))
	}
}

func (p *progress) end(t results.Trial) {
	if t.Void != "" {
		p.say(fmt.Sprintf("%s is void: %s", t.ID, t.Void))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done++
	if t.Void != "" {
		p.voided++
	}
}

// say prints a message, even while a bar is shown.
func (p *progress) say(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped {
		return
	}
	if p.bar != nil {
		_ = p.bar.Clear() // the bar is drawn again later
	}
	p.line(text)
}

func (p *progress) line(text string) {
	p.said = time.Now()
	fmt.Fprintln(p.out, text)
}

// stop prints a summary. No more messages are printed afterwards.
func (p *progress) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		_ = p.bar.Clear()
	}
	said := fmt.Sprintf("%d of %s finished in %s", p.done, counted(len(p.ahead)-1), round(time.Since(p.started)))
	if p.voided > 0 {
		said += fmt.Sprintf(", %d of them void", p.voided)
	}
	p.line(said)
	p.stopped = true
}

func counted(n int) string {
	if n == 1 {
		return "1 trial"
	}
	return fmt.Sprintf("%d trials", n)
}

func round(d time.Duration) time.Duration {
	if d < time.Minute {
		return d.Round(time.Second)
	}
	return d.Round(10 * time.Second)
}
