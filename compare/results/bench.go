package results

import (
	"bytes"
	"fmt"
	"strings"

	"golang.org/x/perf/benchfmt"
)

// units are the values in a line of results.bench, in order. A value that was not measured is nil.
var units = []struct {
	name, better string
	of           func(Trial, Distribution) *float64
}{
	{"intents/s", "higher", func(t Trial, _ Distribution) *float64 { return t.Goodput() }},
	{"p50-ms", "lower", func(_ Trial, latency Distribution) *float64 { return latency.Percentile(50) }},
	{"p99-ms", "lower", func(_ Trial, latency Distribution) *float64 { return latency.Percentile(99) }},
	{"requests/intent", "lower", func(t Trial, _ Distribution) *float64 {
		requests := 0
		for _, count := range t.Client.Requests {
			requests += count
		}
		return share(float64(requests), t.All.Landed)
	}},
	{"apiserver-cpu-ms/intent", "lower", func(t Trial, _ Distribution) *float64 {
		if t.Server.APIServerCPU == nil {
			return nil
		}
		return share(*t.Server.APIServerCPU*1000, t.All.Landed)
	}},
	{"give-ups/intent", "lower", func(t Trial, _ Distribution) *float64 { return share(float64(t.All.GiveUps()), t.All.Intents) }},
	{"lost-updates", "lower", func(t Trial, _ Distribution) *float64 { return new(float64(t.Oracle.LostUpdates())) }},
}

func share(sum float64, intents int) *float64 {
	if intents == 0 {
		return nil
	}
	return new(sum / float64(intents))
}

// Bench returns the content of results.bench in the Go benchmark format. Each valid trial is one line, and so one sample
// for benchstat (`benchstat -col /arm results.bench`). Values that were not measured are left out. A line begins with
// Benchmark and the workload, followed by the arm and the parameters as /NAME=VALUE. The second run of an arm (A/A) is named "ARM-again".
func Bench(run Run, trials []Trial) ([]byte, error) {
	var out bytes.Buffer
	w := benchfmt.NewWriter(&out)
	for _, unit := range units {
		metadata := &benchfmt.UnitMetadata{
			UnitMetadataKey: benchfmt.UnitMetadataKey{Unit: unit.name, Key: "better"}, OrigUnit: unit.name, Value: unit.better,
		}
		if err := w.Write(metadata); err != nil {
			return nil, err
		}
	}
	for _, trial := range trials {
		if trial.Void != "" {
			continue
		}
		latency, err := Merge(trial.Latency)
		if err != nil {
			return nil, fmt.Errorf("trial %s: %w", trial.ID, err)
		}
		var values []benchfmt.Value
		for _, unit := range units {
			if value := unit.of(trial, latency); value != nil {
				values = append(values, benchfmt.Value{Value: *value, Unit: unit.name})
			}
		}
		result := &benchfmt.Result{
			Config: benchConfig(run), Name: benchfmt.Name(benchName(trial)), Iters: max(1, trial.Timed.Landed), Values: values,
		}
		if err := w.Write(result); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}

func benchConfig(run Run) []benchfmt.Config {
	goos, goarch, _ := strings.Cut(run.Environment.OS, "/")
	var config []benchfmt.Config
	for _, c := range [][2]string{
		{"commit", run.Environment.Commit}, {"goos", goos}, {"goarch", goarch}, {"cpu", run.Environment.CPU},
		{"server", run.Environment.Server}, {"seed", fmt.Sprint(run.Seed)},
	} {
		if c[1] != "" {
			config = append(config, benchfmt.Config{Key: c[0], Value: []byte(c[1]), File: true})
		}
	}
	return config
}

func benchName(t Trial) string {
	arm := t.Arm
	if t.AA {
		arm += "-again"
	}
	var workload strings.Builder
	for part := range strings.SplitSeq(t.Workload, "-") {
		workload.WriteString(strings.ToUpper(part[:min(1, len(part))]) + part[min(1, len(part)):])
	}
	name := fmt.Sprintf("%s/arm=%s/writers=%d/managers=%d/objects=%d", workload.String(), arm, t.Writers, t.Managers, t.Objects)
	if t.Processes > 1 {
		name += fmt.Sprintf("/processes=%d", t.Processes)
	}
	if t.RTT > 0 {
		name += "/rtt=" + t.RTT.String()
	}
	if t.Rate > 0 {
		name += fmt.Sprintf("/rate=%g", t.Rate)
	}
	return name
}
