// Package functions reads what Go benchmarks come to, of this module and of coapply's, as rows of the table: what a
// reconcile with nothing to change sends, what it costs its process, and what a manager at rest costs.
package functions

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"golang.org/x/perf/benchfmt"

	"coapply.dev/compare/peers/measure"
)

// Options of a run.
type Options struct {
	Rounds   int
	Quick    bool
	Progress io.Writer
}

// part is benchmarks that one command runs in every round.
type part struct {
	benchmarks    string
	packages      []string
	length, quick string // of -benchtime
	once          bool   // whatever the rounds
	rows          func(values) []measure.Row
}

// values are those of the rounds, by the benchmark's name without its first word, and by the unit.
type values struct {
	names []string // in their order
	found map[[2]string][]float64
}

func (v values) of(benchmark, unit string) []float64 { return v.found[[2]string{benchmark, unit}] }

// module is the folder of this module in a checkout, for who calls from the top of that.
const module = "compare"

// Measure runs the benchmarks of a part, if it has any: those of the checkout that it is called in.
func Measure(ctx context.Context, name string, options Options) ([]measure.Row, error) {
	p, has := parts[name]
	if !has {
		return nil, nil
	}
	read := values{found: map[[2]string][]float64{}}
	length := p.length
	arguments := []string{"test", "-run", "^$", "-bench", p.benchmarks, "-benchmem", "-timeout", "1h", "-count", "1"}
	if options.Quick {
		length, arguments = p.quick, append(arguments, "-short")
	}
	for round := 1; round <= options.Rounds && (round == 1 || !p.once); round++ {
		command := exec.CommandContext(ctx, "go", append(append(arguments, "-benchtime", length), p.packages...)...)
		if _, err := os.Stat(filepath.Join(module, "go.mod")); err == nil {
			command.Dir = module
		}
		command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // go test leaves its tests, and their control plane, running when it is told to end
		command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGINT) }
		command.WaitDelay = 10 * time.Second
		var failed bytes.Buffer
		command.Stderr = &failed
		out, err := command.Output()
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			return nil, fmt.Errorf("the benchmarks, which are run at the top of a checkout or in its folder compare: %w\n%s%s", err, out, failed.Bytes())
		}
		read.add(out)
		fmt.Fprintf(options.Progress, "round %d of %d: %s\n", round, options.Rounds, name)
	}
	if len(read.names) == 0 {
		return nil, fmt.Errorf("there are no benchmarks %s in %s", p.benchmarks, strings.Join(p.packages, ", "))
	}
	return p.rows(read), nil
}

var processors = regexp.MustCompile(`-\d+$`) // that the benchmark had

func (v *values) add(out []byte) {
	for lines := benchfmt.NewReader(bytes.NewReader(out), "benchmarks"); lines.Scan(); {
		result, ok := lines.Result().(*benchfmt.Result)
		if !ok {
			continue
		}
		name := processors.ReplaceAllString(string(result.Name.Full()), "")
		if _, rest, found := strings.Cut(name, "/"); found {
			name = strings.ReplaceAll(rest, "_", " ")
		}
		for _, value := range result.Values {
			key := [2]string{name, value.Unit}
			if len(v.found[key]) == 0 && value.Unit == result.Values[0].Unit {
				v.names = append(v.names, name)
			}
			v.found[key] = append(v.found[key], value.Value)
		}
	}
}
