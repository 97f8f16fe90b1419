// Package functions runs Go benchmarks of this module and of coapply, and returns their results as rows of the result table
// of `compare bench`. The benchmarks measure a reconcile that changes nothing (requests and CPU time), and an idle manager.
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

// Options are the options of Measure.
type Options struct {
	Rounds   int
	Quick    bool
	Progress io.Writer
}

// part is a group of benchmarks that one go command runs, once per round.
type part struct {
	benchmarks    string
	packages      []string
	length, quick string // the value of -benchtime in a usual and in a quick run
	once          bool   // whether the benchmarks run only in the first round
	rows          func(values) []measure.Row
}

// values contains the results of all rounds by benchmark and unit. The benchmark's name is the part after the first slash.
type values struct {
	names []string // in the order of the output
	found map[[2]string][]float64
}

func (v values) of(benchmark, unit string) []float64 { return v.found[[2]string{benchmark, unit}] }

// module is the folder of this module in a checkout. Measure may be called in this folder, or in its parent.
const module = "compare"

// Measure runs the benchmarks of the named part, if it has any, in the checkout of the current folder.
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
		command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // to also end the tests and their control plane, which go test does not end
		command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGINT) }
		command.WaitDelay = 10 * time.Second
		var failed bytes.Buffer
		command.Stderr = &failed
		out, err := command.Output()
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			return nil, fmt.Errorf("running go test (compare bench needs the top folder or compare/ of a checkout): %w\n%s%s", err, out, failed.Bytes())
		}
		read.add(out)
		fmt.Fprintf(options.Progress, "round %d of %d: %s\n", round, options.Rounds, name)
	}
	if len(read.names) == 0 {
		return nil, fmt.Errorf("no benchmark matches %s in %s", p.benchmarks, strings.Join(p.packages, ", "))
	}
	return p.rows(read), nil
}

var processors = regexp.MustCompile(`-\d+$`) // the number of processors, which ends the name of a benchmark

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
