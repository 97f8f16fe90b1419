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

// folder is what results.Folder does here; tests put one in whose disk is full.
type folder interface {
	Append(results.Trial) error
	SaveRun(results.Run) error
	Close() error
}

type creator func(dir string, run results.Run) (folder, error)

// claim makes the folder, so that nobody waits for a cluster to learn that nothing can be written. The function it returns
// takes away a folder that it made and nothing came into.
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
		return nil, fmt.Errorf("the folder for the results: %w; give another with -o", err)
	}
	return func() {
		if errors.Is(missing, fs.ErrNotExist) {
			_ = os.Remove(dir) // fails if it holds anything
		}
	}, nil
}

// probe writes a file and removes it.
func probe(dir string) error {
	file, err := os.CreateTemp(dir, ".probe.*")
	if err != nil {
		return err
	}
	_, err = file.Write([]byte{'\n'})
	return errors.Join(err, file.Close(), os.Remove(file.Name()))
}

// keep writes a trial where it survives whatever comes next.
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
			b.progress.say(fmt.Sprintf("the history of %s is not kept: %v", t.ID, err))
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
		return errors.Join(err, os.Remove(path)) // half a history is none
	}
	return nil
}

// How long a run waits for someone to make room on the disk, and how often it looks.
const (
	spaceTimeout = 2 * time.Minute
	pause        = 2 * time.Second
)

// append keeps a trial. One that cannot be kept at all is printed, so that it is not lost either.
func (b *bench) append(ctx context.Context, t results.Trial) error {
	err := b.withRoom(ctx, func() error { return b.folder.Append(t) })
	if err == nil {
		return nil
	}
	if line, unfit := json.Marshal(t); unfit == nil {
		b.progress.say(fmt.Sprintf("the trial that is not saved, as a line for %s:\n%s", results.TrialsFile, line))
	}
	return err
}

// withRoom writes; a full disk is waited for.
func (b *bench) withRoom(ctx context.Context, write func() error) error {
	err := write()
	if !isFull(err) {
		return err
	}
	deadline := time.Now().Add(spaceTimeout)
	b.progress.say(fmt.Sprintf("no room in %s: make some, the run waits until %s", b.Dir, deadline.Format(time.TimeOnly)))
	for isFull(err) && time.Now().Before(deadline) && sleep(ctx, pause) {
		err = write()
	}
	return err
}

func isFull(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }
