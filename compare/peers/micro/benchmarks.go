package micro

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"

	"golang.org/x/perf/benchfmt"
)

// Benchmarks of what package apply does not export: the check by itself, without the encoding of the intent.
const (
	alone           = "Steady/check/same-version"
	aloneOtherWrite = "Steady/check/other-version"
)

// benchmarks runs those of package apply from the checkout, and adds their rounds.
func benchmarks(ctx context.Context, timings map[string]*timing, options Options) error {
	length := "300ms"
	if options.Quick {
		length = "20x"
	}
	command := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-bench", "^BenchmarkSteady$/^check$", "-benchmem",
		"-benchtime", length, "-count", fmt.Sprint(options.Rounds), "coapply.dev/apply")
	var failed bytes.Buffer
	command.Stderr = &failed
	out, err := command.Output()
	if err != nil {
		return fmt.Errorf("the benchmarks of apply, which are run in a checkout: %w\n%s%s", err, out, failed.Bytes())
	}
	for results := benchfmt.NewReader(bytes.NewReader(out), "benchmarks of apply"); results.Scan(); {
		result, ok := results.Result().(*benchfmt.Result)
		if !ok {
			continue
		}
		name, _, _ := strings.Cut(string(result.Name.Full()), "-version")
		t := of(timings, name+"-version")
		if seconds, ok := result.Value("sec/op"); ok {
			t.seconds = append(t.seconds, seconds)
		}
		if allocations, ok := result.Value("allocs/op"); ok {
			t.allocations = append(t.allocations, allocations)
		}
	}
	if len(of(timings, alone).seconds) == 0 || len(of(timings, aloneOtherWrite).seconds) == 0 {
		return fmt.Errorf("the benchmarks of apply gave neither %s nor %s:\n%s", alone, aloneOtherWrite, out)
	}
	return nil
}
