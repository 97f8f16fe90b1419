package results

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
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
		run.Interrupted = strings.TrimPrefix(run.Interrupted+"; "+said, "; ")
	}
	return run, trials, nil
}

// loadTrials reads the trials from trials.jsonl, or from trials.jsonl.gz, the result of `gzip trials.jsonl`. It also reports
// whether the last line is incomplete.
func loadTrials(folder string) (trials []Trial, cut bool, err error) {
	f, err := os.Open(filepath.Join(folder, TrialsFile))
	compressed := errors.Is(err, fs.ErrNotExist)
	if compressed {
		f, err = os.Open(filepath.Join(folder, TrialsFile+".gz"))
	}
	if err != nil {
		return nil, false, fmt.Errorf("reading the trials of a run from "+TrialsFile+" or "+TrialsFile+".gz: %w", err)
	}
	defer f.Close()
	var from io.Reader = f
	if compressed {
		if from, err = gzip.NewReader(f); err != nil {
			return nil, false, fmt.Errorf("%s is not a gzip file: %w", f.Name(), err)
		}
	}
	for lines := json.NewDecoder(from); ; {
		var trial Trial
		err := lines.Decode(&trial)
		switch {
		case errors.Is(err, io.EOF):
			return trials, false, nil
		case errors.Is(err, io.ErrUnexpectedEOF) && !compressed:
			return trials, true, nil
		case err != nil:
			return nil, false, fmt.Errorf("%s: line %d is not a trial: %w; remove the line to continue without this trial", f.Name(), len(trials)+1, err)
		}
		trials = append(trials, trial)
	}
}

func loadRun(folder string) (Run, error) {
	path := filepath.Join(folder, RunFile)
	data, err := os.ReadFile(path)
	if err != nil {
		return Run{}, fmt.Errorf("reading a run: %w", err)
	}
	var run Run
	err = json.Unmarshal(data, &run)
	if run.Schema != Schema && (err == nil || run.Schema != "") { // another schema may also have fields of other types
		return Run{}, fmt.Errorf("%s has schema %q, but this version of compare reads only %s: repeat the run", path, run.Schema, Schema)
	}
	if err != nil {
		return Run{}, fmt.Errorf("reading %s: %w", path, err)
	}
	return run, nil
}
