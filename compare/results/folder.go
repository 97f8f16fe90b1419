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

// Files in the folder of a run. `compare render` computes the other files from these.
const (
	RunFile    = "run.json"
	TrialsFile = "trials.jsonl"
	Histories  = "histories" // the folder with the histories of trials
)

// Folder writes the folder of a run while the run is in progress. It is not safe for concurrent use.
type Folder struct {
	path   string
	trials file
	saved  int
	size   int64 // size of the saved trials in bytes
}

// file is the interface to os.File that Folder uses. Tests implement it to simulate a full disk.
type file interface {
	io.WriteCloser
	Sync() error
	Truncate(size int64) error
}

// HistoryPath returns the path of the file with the history of a trial.
func HistoryPath(folder, trial string) string {
	return filepath.Join(folder, Histories, trial+".jsonl.gz")
}

// Create creates the folder of a run and saves the run in it. It returns an error if the folder is not empty.
func Create(path string, run Run) (*Folder, error) {
	if err := os.MkdirAll(path, 0o777); err != nil {
		return nil, fmt.Errorf("the folder for the results cannot be created: %w; name another folder with -o", err)
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
		return nil, fmt.Errorf("creating the file for the trials: %w", err)
	}
	f.trials = trials
	return f, nil
}

func refuseFull(path string) error {
	entries, err := os.ReadDir(path)
	if err != nil {
		return fmt.Errorf("the folder for the results cannot be read: %w; name another folder with -o", err)
	}
	if len(entries) == 0 {
		return nil
	}
	if _, err := os.Stat(filepath.Join(path, RunFile)); err == nil {
		return fmt.Errorf("%s holds another run: give a new folder with -o, or show that run with `compare render %s`", path, path)
	}
	return fmt.Errorf("%s is not empty (it holds %s): give a new folder with -o", path, entries[0].Name())
}

// SaveRun replaces the saved run, for example at the end of the run.
func (f *Folder) SaveRun(run Run) error {
	data, err := json.MarshalIndent(run, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding %s: %w", RunFile, err)
	}
	return WriteDerived(f.path, RunFile, append(data, '\n'))
}

// Append saves a trial and returns when it is on the disk. If Append fails, the saved trials are unchanged, and other
// trials can still be appended.
func (f *Folder) Append(trial Trial) error {
	line, err := json.Marshal(trial)
	if err != nil {
		return fmt.Errorf("encoding trial %s: %w", trial.ID, err)
	}
	line = append(line, '\n')
	if _, err = f.trials.Write(line); err == nil {
		err = f.trials.Sync()
	}
	if err != nil {
		// Remove the part of the line that was written, so that the next line is valid. If this fails, Load reports the invalid line.
		return errors.Join(f.notSaved(trial.ID, err), f.trials.Truncate(f.size))
	}
	f.size += int64(len(line))
	f.saved++
	return nil
}

func (f *Folder) notSaved(id string, err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("no space on the disk of %s: trial %s is not saved, but the %d trials before it are: free some space for the next trials (%w)",
			f.path, id, f.saved, err)
	}
	return fmt.Errorf("trial %s is not saved, but the %d trials before it are: %w", id, f.saved, err)
}

// Close closes the file of the trials.
func (f *Folder) Close() error { return f.trials.Close() }

// WriteDerived writes a file into the folder of a run, either completely or not at all. A reader never sees a part of the file.
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
		return fmt.Errorf("no space on the disk for %s: free some space and run `compare render %s` (%w)", path, filepath.Dir(path), err)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s was not written: its folder does not exist (%w)", path, err)
	}
	return fmt.Errorf("%s was not written: %w", path, err)
}

// CheckNew returns the error that Create would return for an existing folder, but creates nothing. A caller can
// therefore report the error before it starts a cluster.
func CheckNew(path string) error {
	if err := refuseFull(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
