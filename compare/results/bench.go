package results

import (
	"bytes"
	"fmt"
	"strings"

	"golang.org/x/perf/benchfmt"
)

// units are the units of the values in a line of results.bench, in order.
var units = []struct{ name, better string }{
	{"intents/s", "higher"},
	{"p50-ms", "lower"},
	{"p99-ms", "lower"},
	{"requests/intent", "lower"},
	{"apiserver-cpu-ms/intent", "lower"},
	{"give-ups/intent", "lower"},
	{"lost-updates", "lower"},
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
		values, err := benchValues(trial)
		if err != nil {
			return nil, fmt.Errorf("trial %s: %w", trial.ID, err)
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

// benchValues returns the values of a trial, in the order of units.
func benchValues(t Trial) ([]benchfmt.Value, error) {
	latency, err := Merge(t.Latency)
	if err != nil {
		return nil, err
	}
	lost := float64(t.Oracle.LostUpdates())
	measured := []*float64{t.Goodput(), latency.Percentile(50), latency.Percentile(99), nil, nil, nil, &lost}
	if landed := float64(t.All.Landed); landed > 0 {
		requests := 0.0
		for _, count := range t.Client.Requests {
			requests += float64(count)
		}
		requests /= landed
		measured[3] = &requests
		if t.Server.APIServerCPU != nil {
			cpu := *t.Server.APIServerCPU * 1000 / landed
			measured[4] = &cpu
		}
	}
	if t.All.Intents > 0 {
		share := float64(t.All.GiveUps()) / float64(t.All.Intents)
		measured[5] = &share
	}
	var values []benchfmt.Value
	for i, value := range measured {
		if value != nil {
			values = append(values, benchfmt.Value{Value: *value, Unit: units[i].name})
		}
	}
	return values, nil
}
