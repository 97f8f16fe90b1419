package results

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Files in the folder of a run. `compare render` computes the other files from these.
const (
	RunFile    = "run.json"
	TrialsFile = "trials.jsonl"
)

// Folder writes the folder of a run while the run is in progress. It is not safe for concurrent use.
type Folder struct {
	path   string
	trials *os.File
}

// Create creates the folder of a run with an empty file for the trials. It returns an error if the folder is not empty.
func Create(path string) (*Folder, error) {
	if err := os.MkdirAll(path, 0o777); err != nil {
		return nil, unusable(err)
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, unusable(err)
	}
	if len(entries) > 0 {
		return nil, fmt.Errorf("%s is not empty (it holds %s): give a new folder with -o", path, entries[0].Name())
	}
	trials, err := os.OpenFile(filepath.Join(path, TrialsFile), os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o666)
	if err != nil {
		return nil, unusable(err)
	}
	return &Folder{path: path, trials: trials}, nil
}

func unusable(err error) error {
	return fmt.Errorf("the folder for the results cannot be used: %w; name another folder with -o", err)
}

// Discard deletes the folder of a run in which nothing was saved.
func (f *Folder) Discard() error {
	return errors.Join(f.Close(), os.Remove(f.trials.Name()), os.Remove(f.path))
}

// SaveRun replaces the saved run, for example at the end of the run.
func (f *Folder) SaveRun(run Run) error {
	data, err := json.MarshalIndent(run, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding %s: %w", RunFile, err)
	}
	return WriteDerived(f.path, RunFile, append(data, '\n'))
}

// Append saves a trial and returns when it is on the disk. After an error, no more trials can be saved: the last line of the
// file may be incomplete, which Load ignores.
func (f *Folder) Append(trial Trial) error {
	line, err := json.Marshal(trial)
	if err == nil {
		_, err = f.trials.Write(append(line, '\n'))
	}
	if err == nil {
		err = f.trials.Sync()
	}
	if err != nil {
		return fmt.Errorf("trial %s is not saved, but the trials before it are: %w", trial.ID, err)
	}
	return nil
}

// Close closes the file of the trials.
func (f *Folder) Close() error { return f.trials.Close() }

// WriteDerived writes a file into the folder of a run, either completely or not at all. A reader never sees a part of the file.
func WriteDerived(folder, name string, data []byte) error {
	path := filepath.Join(folder, name)
	temporary := filepath.Join(folder, "."+name)
	err := os.WriteFile(temporary, data, 0o644)
	if err == nil {
		err = os.Rename(temporary, path)
	}
	if err != nil {
		return fmt.Errorf("%s was not written: %w", path, err)
	}
	return nil
}
