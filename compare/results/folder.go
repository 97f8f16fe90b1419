package results

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Files of a run's folder. Those that are derived are made again from the others by `compare render`.
const (
	RunFile    = "run.json"
	TrialsFile = "trials.jsonl"
	Histories  = "histories" // a folder
)

// Folder is a run's folder while the run goes on. It is for one goroutine.
type Folder struct {
	path   string
	trials file
	saved  int
	size   int64 // of what is saved
}

// file is what os.File does here; tests put one in that fills its disk.
type file interface {
	io.WriteCloser
	Sync() error
	Truncate(size int64) error
}

// HistoryPath is where the history of a trial is kept.
func HistoryPath(folder, trial string) string {
	return filepath.Join(folder, Histories, trial+".jsonl.gz")
}

// Create makes the folder of a run and saves the run in it. It refuses a folder that holds anything.
func Create(path string, run Run) (*Folder, error) {
	if err := os.MkdirAll(path, 0o777); err != nil {
		return nil, fmt.Errorf("the folder for the results: %w; give another with -o", err)
	}
	if err := refuseFull(path); err != nil {
		return nil, err
	}
	f := &Folder{path: path}
	if err := f.SaveRun(run); err != nil {
		return nil, err
	}
	trials, err := os.OpenFile(filepath.Join(path, TrialsFile), os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o666)
	if err != nil {
		return nil, fmt.Errorf("the file for the trials: %w", err)
	}
	f.trials = trials
	return f, nil
}

func refuseFull(path string) error {
	entries, err := os.ReadDir(path)
	if err != nil {
		return fmt.Errorf("the folder for the results: %w; give another with -o", err)
	}
	if len(entries) == 0 {
		return nil
	}
	if _, err := os.Stat(filepath.Join(path, RunFile)); err == nil {
		return fmt.Errorf("%s holds another run: give a new folder with -o, or show that run with `compare render %s`", path, path)
	}
	return fmt.Errorf("%s is not empty (it holds %s): give a new folder with -o", path, entries[0].Name())
}

// SaveRun saves the run anew, such as with its end.
func (f *Folder) SaveRun(run Run) error {
	data, err := json.MarshalIndent(run, "", "  ")
	if err != nil {
		return fmt.Errorf("%s: %w", RunFile, err)
	}
	return WriteDerived(f.path, RunFile, append(data, '\n'))
}

// Append saves a trial and returns when it is on the disk. After an error the trials before are as they were, and later
// ones can be appended.
func (f *Folder) Append(trial Trial) error {
	line, err := json.Marshal(trial)
	if err != nil {
		return fmt.Errorf("trial %s: %w", trial.ID, err)
	}
	line = append(line, '\n')
	if _, err = f.trials.Write(line); err == nil {
		err = f.trials.Sync()
	}
	if err != nil {
		// What was written of the line must not stand before the next one. If it cannot be taken off, Load says so.
		return errors.Join(f.notSaved(trial.ID, err), f.trials.Truncate(f.size))
	}
	f.size += int64(len(line))
	f.saved++
	return nil
}

func (f *Folder) notSaved(id string, err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("no room in %s: trial %s is not saved, the %d before it are: make room for the trials to come (%w)",
			f.path, id, f.saved, err)
	}
	return fmt.Errorf("trial %s is not saved, the %d before it are: %w", id, f.saved, err)
}

// Close ends the appending.
func (f *Folder) Close() error { return f.trials.Close() }

// WriteDerived puts a file into a run's folder whole or not at all: who reads it never sees half of it.
func WriteDerived(folder, name string, data []byte) error {
	path := filepath.Join(folder, name)
	temporary, err := os.CreateTemp(folder, "."+name+".*")
	if err != nil {
		return notWritten(path, err)
	}
	_, err = temporary.Write(data)
	if err == nil {
		err = temporary.Chmod(0o644)
	}
	if err == nil {
		err = temporary.Sync()
	}
	if err = errors.Join(err, temporary.Close()); err == nil {
		err = os.Rename(temporary.Name(), path)
	}
	if err != nil {
		return notWritten(path, errors.Join(err, os.Remove(temporary.Name())))
	}
	return nil
}

func notWritten(path string, err error) error {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("no room for %s: make room and run `compare render %s` (%w)", path, filepath.Dir(path), err)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s is not written: there is no such folder (%w)", path, err)
	}
	return fmt.Errorf("%s is not written: %w", path, err)
}

// CheckNew refuses a path that Create would refuse, without creating anything: so that nobody waits for a cluster first.
func CheckNew(path string) error {
	if err := refuseFull(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
