// Package decided contains the decisions about the evaluation of a run. These decisions are made before the run. They
// are the questions, margins, primary cells and comparisons in the file decided.yaml. The file is compiled into the
// program, and each run records the hash of the file.
package decided

import (
	"crypto/sha256"
	_ "embed" // decided.yaml
	"encoding/hex"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

//go:embed decided.yaml
var text []byte

// File is the content of decided.yaml. The comments in decided.yaml explain the fields.
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

// Chart selects the cells that the chart on the first screen of the report shows.
type Chart struct {
	Managers  int               `json:"managers"`
	Processes int               `json:"processes"`
	RTT       []metav1.Duration `json:"rtt"`
}

// Situation is one row of the table "your situation → use this → because" of the report.
type Situation struct {
	Situation string `json:"situation"`
	Cell      string `json:"cell"`
	Measure   string `json:"measure"`
}

// Loss explains why the named arms lose updates. It applies to the named workloads, or to all workloads if the list is empty.
type Loss struct {
	Arms      []string `json:"arms"`
	Workloads []string `json:"workloads"`
	Why       string   `json:"why"`
}

// Now is the parsed decided.yaml that is compiled into this program.
var Now = parse()

// Hash returns the sha256 of the decided.yaml of this program.
func Hash() string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Text returns the decided.yaml of this program as text.
func Text() string { return string(text) }

// ExpectedLoss returns the reason why an arm may lose updates in a workload, or "" if no loss is expected.
func (f File) ExpectedLoss(arm, workload string) string {
	for _, loss := range f.Losses {
		if covers(loss.Arms, arm) && (len(loss.Workloads) == 0 || slices.Contains(loss.Workloads, workload)) {
			return loss.Why
		}
	}
	return ""
}

// Applies reports whether an arm writes by Server-Side Apply.
func (f File) Applies(arm string) bool { return covers(f.Applying, arm) }

// covers reports whether an arm or, for a variant such as apply-2, the arm apply before the hyphen, is listed.
func covers(list []string, arm string) bool {
	return slices.ContainsFunc(list, func(listed string) bool { return arm == listed || strings.HasPrefix(arm, listed+"-") })
}

// RoundTrips returns the round-trip times of the chart.
func (c Chart) RoundTrips() []time.Duration {
	all := make([]time.Duration, len(c.RTT))
	for i, rtt := range c.RTT {
		all[i] = rtt.Duration
	}
	return all
}

func parse() (f File) {
	if err := yaml.UnmarshalStrict(text, &f); err != nil {
		panic(err) // impossible: TestNow parses the same file
	}
	return f
}
