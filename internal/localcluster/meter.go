package localcluster

import (
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// linePeriod is how often a build prints its progress if the output is no terminal.
const linePeriod = 15 * time.Second

// meter shows how many packages are compiled. Packages that the build cache has are never counted, so a build may well
// end before the count reaches the total.
type meter struct {
	compiled atomic.Int64
	total    int
	started  time.Time
	bar      *progressbar.ProgressBar // nil: lines instead
	out      io.Writer
	quit     chan struct{}
	quitted  chan struct{}
}

func startMeter(out io.Writer, total int) *meter {
	m := &meter{total: total, started: time.Now(), out: out, quit: make(chan struct{}), quitted: make(chan struct{})}
	if file, ok := out.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		m.bar = newBar(out, total)
	}
	go m.report()
	return m
}

func newBar(out io.Writer, total int) *progressbar.ProgressBar {
	return progressbar.NewOptions(total,
		progressbar.OptionSetWriter(out),
		progressbar.OptionSetDescription("compiling packages"),
		progressbar.OptionShowCount(),
		progressbar.OptionSetElapsedTime(true),
		progressbar.OptionSetPredictTime(false),
		progressbar.OptionFullWidth(),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionClearOnFinish(),
	)
}

// report draws once a second on a terminal, so that the elapsed time moves while the linker, which prints nothing, is
// at work.
func (m *meter) report() {
	defer close(m.quitted)
	period := linePeriod
	if m.bar != nil {
		period = time.Second
	}
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	for {
		select {
		case <-m.quit:
			return
		case <-ticker.C:
			m.show()
		}
	}
}

func (m *meter) show() {
	compiled := int(m.compiled.Load())
	if m.bar != nil {
		_ = m.bar.Set(min(compiled, m.total-1)) // a full bar would clear itself while the linker still runs
		return
	}
	fmt.Fprintf(m.out, "compiled %d of %d packages, %s elapsed\n", compiled, m.total, time.Since(m.started).Round(time.Second))
}

// stop ends the display. It prints the end only of a build that succeeded.
func (m *meter) stop(failure error) {
	close(m.quit)
	<-m.quitted
	if m.bar != nil {
		_ = m.bar.Clear()
	}
	if failure != nil {
		return
	}
	fmt.Fprintf(m.out, "built in %s: %d packages compiled, the others were in Go's build cache\n",
		time.Since(m.started).Round(time.Second), m.compiled.Load())
}
