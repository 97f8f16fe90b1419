package results

import (
	"bufio"
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
		return nil, false, fmt.Errorf("reading the trials of a run: %w", err)
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

// readTrials parses trials.jsonl. It also reports whether the last line is incomplete.
func readTrials(r io.Reader) (trials []Trial, cut bool, err error) {
	reader := bufio.NewReader(r)
	for number := 1; ; number++ {
		line, end := reader.ReadBytes('\n')
		if end != nil && !errors.Is(end, io.EOF) {
			return nil, false, fmt.Errorf("line %d: %w", number, end)
		}
		if end != nil && len(line) == 0 {
			return trials, false, nil
		}
		var trial Trial
		err = json.Unmarshal(line, &trial)
		switch {
		case err != nil && end != nil:
			return trials, true, nil //nolint:nilerr // a line that is cut off is reported by cut
		case err != nil:
			return nil, false, fmt.Errorf("line %d is not a trial: %w; remove the line to continue without this trial", number, err)
		}
		trials = append(trials, trial)
	}
}
