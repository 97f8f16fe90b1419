// Package decided holds what is decided before a run: questions, margins, primary cells, comparisons. It is one file,
// decided.yaml, compiled into the program; a run keeps its hash.
package decided

import (
	"crypto/sha256"
	_ "embed" // decided.yaml
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

//go:embed decided.yaml
var text []byte

// File is decided.yaml; its comments say what each field is for.
type File struct {
	Margin     float64     `json:"margin"`
	Trials     int         `json:"trials"`
	OwnShare   float64     `json:"ownShare"`
	GiveUps    float64     `json:"giveUps"`
	Ours       string      `json:"ours"`
	Plain      string      `json:"plain"`
	Applying   []string    `json:"applying"`
	Primary    []string    `json:"primary"`
	Chart      Chart       `json:"chart"`
	Situations []Situation `json:"situations"`
	Losses     []Loss      `json:"losses"`
}

// Chart says which cells the first screen draws.
type Chart struct {
	Managers  int               `json:"managers"`
	Processes int               `json:"processes"`
	RTT       []metav1.Duration `json:"rtt"`
}

// Situation is a row of "your situation → use this → because".
type Situation struct {
	Situation string `json:"situation"`
	Cell      string `json:"cell"`
	Measure   string `json:"measure"`
}

// Loss says why arms lose updates, in some workloads or, without any named, in all.
type Loss struct {
	Arms      []string `json:"arms"`
	Workloads []string `json:"workloads"`
	Why       string   `json:"why"`
}

// Now is the file of this program.
var Now = must(Parse(text))

// Hash is the sha256 of the file of this program.
func Hash() string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Text is the file as it is.
func Text() string { return string(text) }

// Parse reads such a file and refuses what no report can be made from.
func Parse(text []byte) (File, error) {
	var f File
	if err := yaml.UnmarshalStrict(text, &f); err != nil {
		return File{}, fmt.Errorf("decided.yaml: %w", err)
	}
	switch {
	case f.Margin <= 0 || f.Margin >= 1:
		return File{}, fmt.Errorf("decided.yaml: margin %g: it is a share above 0 and below 1", f.Margin)
	case f.Trials < 3:
		return File{}, fmt.Errorf("decided.yaml: trials %d: an interval needs 3 or more", f.Trials)
	case f.Ours == "" || f.Plain == "" || f.Ours == f.Plain:
		return File{}, fmt.Errorf("decided.yaml: ours %q and plain %q: two arms are compared first", f.Ours, f.Plain)
	case len(slices.Compact(slices.Sorted(slices.Values(f.Primary)))) != len(f.Primary):
		return File{}, fmt.Errorf("decided.yaml: a primary cell stands twice: %q", f.Primary)
	}
	return f, nil
}

// ExpectedLoss says why an arm loses updates in a workload; "" if it must not.
func (f File) ExpectedLoss(arm, workload string) string {
	for _, loss := range f.Losses {
		if slices.Contains(loss.Arms, arm) && (len(loss.Workloads) == 0 || slices.Contains(loss.Workloads, workload)) {
			return loss.Why
		}
	}
	return ""
}

// Applies reports whether an arm writes by Server-Side Apply.
func (f File) Applies(arm string) bool { return slices.Contains(f.Applying, arm) }

// RoundTrips are those of the chart.
func (c Chart) RoundTrips() []time.Duration {
	all := make([]time.Duration, len(c.RTT))
	for i, rtt := range c.RTT {
		all[i] = rtt.Duration
	}
	return all
}

func must(f File, err error) File {
	if err != nil {
		panic(err) // TestNow parses the same text
	}
	return f
}
