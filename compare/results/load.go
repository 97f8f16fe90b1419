package results

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Load reads a run and its trials from a folder. If the last line of trials.jsonl is cut off, such as after a crash, it is
// ignored and mentioned in Run.Interrupted. Any other invalid line is an error with the number of the line.
func Load(folder string) (Run, []Trial, error) {
	run, err := loadRun(folder)
	if err != nil {
		return Run{}, nil, err
	}
	trials, cut, err := loadTrials(folder)
	if err != nil {
		return Run{}, nil, err
	}
	if cut {
		said := fmt.Sprintf("the last line of %s, number %d, is cut off: that trial is lost", TrialsFile, len(trials)+1)
		if run.Interrupted != "" {
			said = run.Interrupted + "; " + said
		}
		run.Interrupted = said
	}
	return run, trials, nil
}

// loadTrials reads the trials from trials.jsonl, or from trials.jsonl.gz, the result of `gzip trials.jsonl`.
func loadTrials(folder string) (trials []Trial, cut bool, err error) {
	f, err := os.Open(filepath.Join(folder, TrialsFile))
	compressed := errors.Is(err, fs.ErrNotExist)
	if compressed {
		f, err = os.Open(filepath.Join(folder, TrialsFile+".gz"))
	}
	if err != nil {
		return nil, false, missing(folder, TrialsFile, err)
	}
	defer f.Close()
	var from io.Reader = f
	if compressed {
		if from, err = gzip.NewReader(f); err != nil {
			return nil, false, fmt.Errorf("%s is not a gzip file: %w", f.Name(), err)
		}
	}
	if trials, cut, err = readTrials(from); err != nil {
		return nil, false, fmt.Errorf("%s: %w", f.Name(), err)
	}
	return trials, cut, nil
}

func loadRun(folder string) (Run, error) {
	path := filepath.Join(folder, RunFile)
	data, err := os.ReadFile(path)
	if err != nil {
		return Run{}, missing(folder, RunFile, err)
	}
	// Check the schema first, because fields may have other types in another schema.
	var version struct {
		Schema      string `json:"schema"`
		Environment struct {
			Commit string `json:"commit"`
		} `json:"environment"`
	}
	if err := json.Unmarshal(data, &version); err != nil {
		return Run{}, fmt.Errorf("%s is not a valid run.json: %w; without this file, the run cannot be shown", path, err)
	}
	if version.Schema != Schema {
		return Run{}, otherSchema(path, version.Schema, version.Environment.Commit)
	}
	var run Run
	if err := json.Unmarshal(data, &run); err != nil {
		return Run{}, fmt.Errorf("%s is not a valid run.json: %w", path, err)
	}
	return run, nil
}

func otherSchema(path, schema, commit string) error {
	if schema == "" {
		return fmt.Errorf("%s has no schema, so it was not written by compare", path)
	}
	writer := "the version of compare that wrote the file"
	if commit != "" {
		writer = "compare built from commit " + commit
	}
	return fmt.Errorf("%s has schema %s, but this version of compare reads only schema %s: use %s, or repeat the run",
		path, schema, Schema, writer)
}

func missing(folder, name string, err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("reading the results in %s: %w", folder, err)
	}
	if _, stat := os.Stat(folder); stat != nil {
		return fmt.Errorf("there is no folder %s: give the folder of a run that `compare run -o` made", folder)
	}
	return fmt.Errorf("%s has no %s: it is not the folder of a run; give one that `compare run -o` made", folder, name)
}

// readTrials parses trials.jsonl. It also reports whether the last line is incomplete.
func readTrials(r io.Reader) (trials []Trial, cut bool, err error) {
	reader := bufio.NewReader(r)
	lines := map[string]int{}
	for number := 1; ; number++ {
		line, end := reader.ReadBytes('\n')
		if end != nil && !errors.Is(end, io.EOF) {
			return nil, false, fmt.Errorf("line %d: %w", number, end)
		}
		if end != nil && len(line) == 0 {
			return trials, false, nil
		}
		trial, err := readTrial(bytes.TrimSuffix(line, []byte("\n")))
		switch {
		case err != nil && end != nil:
			return trials, true, nil //nolint:nilerr // a line that is cut off is reported by cut
		case err != nil:
			return nil, false, fmt.Errorf("line %d is not a trial: %w; remove the line to continue without this trial", number, err)
		}
		if before, ok := lines[trial.ID]; ok {
			return nil, false, fmt.Errorf("line %d: trial %s is already in line %d", number, trial.ID, before)
		}
		lines[trial.ID] = number
		trials = append(trials, trial)
	}
}

func readTrial(line []byte) (Trial, error) {
	var trial Trial
	if err := json.Unmarshal(line, &trial); err != nil {
		return Trial{}, err
	}
	if trial.ID == "" || trial.Workload == "" || trial.Arm == "" {
		return Trial{}, errors.New("id, workload or arm is missing")
	}
	for _, latency := range []Latency{trial.Latency, trial.Service} {
		if _, err := DecodeHistogram(latency.Histogram); err != nil {
			return Trial{}, err
		}
	}
	return trial, nil
}
