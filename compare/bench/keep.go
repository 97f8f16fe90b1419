package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"coapply.dev/compare/history"
	"coapply.dev/compare/results"
	"coapply.dev/compare/trial"
)

// folder is the interface to results.Folder that a run uses. Tests implement it to simulate a full disk.
type folder interface {
	Append(results.Trial) error
	SaveRun(results.Run) error
	Close() error
}

type creator func(dir string, run results.Run) (folder, error)

// claim creates the folder for the results and checks that it is writable, before the run waits for a cluster. The
// returned function deletes the folder if claim has created it and it is still empty.
func claim(dir string) (release func(), err error) {
	if err := results.CheckNew(dir); err != nil {
		return nil, err
	}
	_, missing := os.Stat(dir)
	err = os.MkdirAll(dir, 0o777)
	if err == nil {
		err = probe(dir)
	}
	if err != nil {
		return nil, fmt.Errorf("the folder for the results cannot be used: %w; name another folder with -o", err)
	}
	return func() {
		if errors.Is(missing, fs.ErrNotExist) {
			_ = os.Remove(dir) // fails if the folder is not empty
		}
	}, nil
}

func probe(dir string) error {
	file, err := os.CreateTemp(dir, ".probe.*")
	if err != nil {
		return err
	}
	_, err = file.Write([]byte{'\n'})
	return errors.Join(err, file.Close(), os.Remove(file.Name()))
}

// keep saves a trial on the disk, and its history if the history was cross-checked.
func (b *bench) keep(ctx context.Context, recorded trial.Recorded) error {
	t := recorded.Trial
	if err := b.append(ctx, t); err != nil {
		return err
	}
	if t.Void == "" {
		b.measured++
	}
	if t.Oracle.Porcupine != "" {
		b.seen[sample(t.Cell, t.Arm)] = true
		if err := b.keepHistory(t.ID, recorded.History); err != nil {
			b.progress.say(fmt.Sprintf("the history of trial %s was not saved: %v", t.ID, err))
		}
	}
	for i, w := range b.Run.Workloads {
		if w.Name == t.Workload && w.Object == "" && recorded.Object != "" {
			b.Run.Workloads[i].Object = recorded.Object
		}
	}
	return nil
}

func (b *bench) keepHistory(id string, h history.History) error {
	var out bytes.Buffer
	if err := history.Write(&out, h); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(b.Dir, results.Histories), 0o777); err != nil {
		return err
	}
	path := results.HistoryPath(b.Dir, id)
	if err := os.WriteFile(path, out.Bytes(), 0o666); err != nil {
		return errors.Join(err, os.Remove(path)) // part of a history is of no use
	}
	return nil
}

// The maximum time to wait for free disk space, and the time between two attempts to write.
const (
	spaceTimeout = 2 * time.Minute
	pause        = 2 * time.Second
)

// append saves a trial. If this fails, it prints the trial, so that the trial is not lost.
func (b *bench) append(ctx context.Context, t results.Trial) error {
	err := b.withRoom(ctx, func() error { return b.folder.Append(t) })
	if err == nil {
		return nil
	}
	if line, unfit := json.Marshal(t); unfit == nil {
		b.progress.say(fmt.Sprintf("to keep the trial that was not saved, append this line to %s:\n%s", results.TrialsFile, line))
	}
	return err
}

// withRoom calls write. If the disk is full, it waits for space and calls write again.
func (b *bench) withRoom(ctx context.Context, write func() error) error {
	err := write()
	if !isFull(err) {
		return err
	}
	deadline := time.Now().Add(spaceTimeout)
	b.progress.say(fmt.Sprintf("no space on the disk of %s: free some space; the run waits until %s", b.Dir, deadline.Format(time.TimeOnly)))
	for isFull(err) && time.Now().Before(deadline) && sleep(ctx, pause) {
		err = write()
	}
	return err
}

func isFull(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }
