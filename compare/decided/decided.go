// Package decided contains the decisions about a run and its evaluation. They are made before the run: the questions, the
// cells and arms, the plan, and the margins, in the file decided.yaml. The file is compiled into the program, and each run
// records the hash of the file.
package decided

import (
	"crypto/sha256"
	_ "embed" // decided.yaml
	"encoding/hex"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

//go:embed decided.yaml
var text []byte

// File is the content of decided.yaml. The comments in decided.yaml explain the fields.
type File struct {
	Margins     Margins            `json:"margins"`
	Trials      int                `json:"trials"`
	OwnShare    float64            `json:"ownShare"`
	GiveUps     float64            `json:"giveUps"`
	Power       Power              `json:"power"`
	Square      Square             `json:"square"`
	Ours        string             `json:"ours"`
	Comparisons []Comparison       `json:"comparisons"`
	Profiles    map[string][]Sweep `json:"profiles"`
	Losses      []Loss             `json:"losses"`
}

// Margins are the relative differences that decide between equivalent and better or worse.
type Margins struct {
	Square float64 `json:"square"` // in the cells of the 2×2
	Other  float64 `json:"other"`
}

// Power bounds the number of blocks of a cell whose number follows from a pilot.
type Power struct {
	Pilot int `json:"pilot"`
	Least int `json:"least"`
	Most  int `json:"most"`
}

// Square is the 2×2 of the first question: the arms of both protocols, without and with turns, and where they are compared.
type Square struct {
	GMU        string      `json:"gmu"`
	SSA        string      `json:"ssa"`
	GMUTurns   string      `json:"gmuTurns"`
	SSATurns   string      `json:"ssaTurns"`
	Situations []Situation `json:"situations"`
}

// Situation names the cells of one situation, one for each round-trip time.
type Situation struct {
	Name  string   `json:"name"`
	Cells []string `json:"cells"`
}

// Comparison is a comparison of two arms, in every cell that has both.
type Comparison struct {
	Name    string `json:"name"` // the family of the comparisons
	Text    string `json:"text"`
	Arm     string `json:"arm"`
	Against string `json:"against"`
}

// Sweep is a part of a plan: a cell for each combination of the lists. A missing list or value is the workload's default.
// Without Blocks, the pilot decides on their number. Rounds limits the rounds of the workloads that end after rounds.
type Sweep struct {
	Workloads []string          `json:"workloads"`
	Arms      []string          `json:"arms"`
	AA        string            `json:"aa"` // the arm that runs twice in each block, for a comparison with itself
	Writers   []int             `json:"writers"`
	Processes []int             `json:"processes"`
	Objects   []int             `json:"objects"`
	Managers  []int             `json:"managers"`
	RTT       []metav1.Duration `json:"rtt"`
	Blocks    int               `json:"blocks"`
	Rounds    int               `json:"rounds"`
	Warmup    metav1.Duration   `json:"warmup"`
	Duration  metav1.Duration   `json:"duration"`
}

// Loss explains why the named arms lose updates. It applies to the named workloads, or to all workloads if the list is empty.
type Loss struct {
	Arms      []string `json:"arms"`
	Workloads []string `json:"workloads"`
	Why       string   `json:"why"`
}

// Now is the parsed decided.yaml that is compiled into this program.
var Now = must(Parse(text))

// Hash returns the sha256 of the decided.yaml of this program.
func Hash() string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Text returns the decided.yaml of this program as text.
func Text() string { return string(text) }

// Parse parses the content of decided.yaml. It returns an error if the content is invalid.
func Parse(text []byte) (File, error) {
	var f File
	if err := yaml.UnmarshalStrict(text, &f); err != nil {
		return File{}, fmt.Errorf("parsing decided.yaml: %w", err)
	}
	for _, margin := range []float64{f.Margins.Square, f.Margins.Other} {
		if margin <= 0 || margin >= 1 {
			return File{}, fmt.Errorf("decided.yaml: a margin is %g, but must be above 0 and below 1", margin)
		}
	}
	if f.Trials < 3 {
		return File{}, fmt.Errorf("decided.yaml: trials is %d, but an interval needs 3 or more", f.Trials)
	}
	return f, nil
}

// SquareCells returns the names of the cells of the 2×2.
func (f File) SquareCells() []string {
	var cells []string
	for _, s := range f.Square.Situations {
		cells = append(cells, s.Cells...)
	}
	return cells
}

// ExpectedLoss returns the reason why an arm may lose updates in a workload, or "" if no loss is expected.
func (f File) ExpectedLoss(arm, workload string) string {
	for _, loss := range f.Losses {
		if slices.Contains(loss.Arms, arm) && (len(loss.Workloads) == 0 || slices.Contains(loss.Workloads, workload)) {
			return loss.Why
		}
	}
	return ""
}

func must(f File, err error) File {
	if err != nil {
		panic(err) // impossible: TestNow parses the same file
	}
	return f
}
