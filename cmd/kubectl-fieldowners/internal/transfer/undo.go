package transfer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"coapply.dev/apply"
	"coapply.dev/apply/ownership"
	"coapply.dev/cmd/kubectl-fieldowners/internal/console"
	"coapply.dev/cmd/kubectl-fieldowners/internal/view"
	"coapply.dev/fieldowners"
)

// undoFile is the content of the file that migrate saves before it writes. The format is stable:
// fields may be added, but no field is renamed, removed or given another meaning.
type undoFile struct {
	Undoes string                 `json:"undoes"` // the command that was run: always "migrate"
	Object view.Ref               `json:"object"`
	Moved  []fieldowners.Handover `json:"moved"` // the moved fields with their former and new owners
}

func newUndoFile(object apply.ObjectRef, moved []fieldowners.Handover) undoFile {
	version, kind := object.ToAPIVersionAndKind()
	return undoFile{Undoes: "migrate", Moved: moved, Object: view.Ref{
		APIVersion: version, Kind: kind, Namespace: object.Namespace, Name: object.Name, UID: string(object.UID),
	}}
}

func refOf(o view.Ref) apply.ObjectRef {
	return apply.ObjectRef{
		GroupVersionKind: o.GVK(),
		NamespacedName:   types.NamespacedName{Namespace: o.Namespace, Name: o.Name},
		UID:              types.UID(o.UID),
	}
}

func (f undoFile) encode() ([]byte, error) {
	text, err := json.MarshalIndent(f, "", "  ")
	return append(text, '\n'), err
}

func decodeUndo(content []byte) (saved undoFile, err error) {
	err = yaml.UnmarshalStrict(content, &saved) // JSON is YAML
	if err == nil && (saved.Undoes != "migrate" || len(saved.Moved) == 0) {
		err = errors.New(`the field "undoes" is not "migrate", or the field "moved" is empty`)
	}
	return saved, err
}

// save writes a new undo file. If the file exists, save returns an error and leaves the file unchanged.
func (f undoFile) save(path string) error {
	content, err := f.encode()
	if err != nil {
		return err
	}
	file, err := os.OpenFile(filepath.Clean(path), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		_, err = file.Write(content)
		err = errors.Join(err, file.Sync(), file.Close())
	}
	var cause *fs.PathError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("nothing was written, as the undo file %s exists already: move the file away, or name another file by --undo-file", path)
	case errors.As(err, &cause):
		err = cause.Err
	}
	return fmt.Errorf("nothing was written, as the undo file %s cannot be saved: %w", path, err)
}

// runUndo undoes the migration that is recorded in the file of --undo.
func (m *migrateCommand) runUndo(ctx context.Context, args []string) error {
	if len(args) > 0 {
		return console.UsageError(m.cmd, "%q cannot be used with --undo: the undo file names the object", args[0])
	}
	source, content, err := m.ReadFile(m.undo)
	if err != nil {
		return err
	}
	saved, err := decodeUndo(content)
	if err != nil {
		return fmt.Errorf("%s: not an undo file of migrate: %w", source, err)
	}
	if m.client, err = m.Connect(); err != nil {
		return err
	}
	found, err := m.moveBack(ctx, saved)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", source, err)
	case found:
		return console.ErrFound
	}
	return nil
}

func (m *migrateCommand) moveBack(ctx context.Context, saved undoFile) (found bool, err error) {
	applier, err := m.applier(saved.Moved[0].To.Name)
	if err != nil {
		return false, err
	}
	object := refOf(saved.Object)
	undo, err := ownership.Undo(ctx, applier, object, saved.Moved)
	if err != nil {
		return false, err
	}
	moves := len(undo.Moves())
	if moves == 0 {
		fmt.Fprintf(m.Out, "%v: nothing to give back: %s no longer owns any of the fields in the undo file\n", object, saved.Moved[0].To)
		return false, nil
	}
	m.showTransfer(object, undo)
	if !m.yes {
		return m.dryRun(moves), nil
	}
	if _, err := undo.Do(ctx); err != nil {
		return false, err
	}
	fmt.Fprintf(m.Out, "%v: %s given back\n", object, fields(moves))
	return false, nil
}
