package transfer

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/ownership"
	"coapply.dev/cmd/kubectl-fieldowners/internal/console"
	"coapply.dev/cmd/kubectl-fieldowners/internal/view"
	"coapply.dev/fieldowners"
)

// undoFile is what release and migrate save before they write. It is stable: fields may
// be added, none is renamed, removed or given another meaning.
type undoFile struct {
	Undoes  string                 `json:"undoes"` // "migrate" or "release"
	Object  view.Ref               `json:"object"`
	Moved   []fieldowners.Handover `json:"moved,omitempty"`   // by migrate
	Manager string                 `json:"manager,omitempty"` // of what release gave up
	GivenUp []undoConfig           `json:"givenUp,omitempty"` // by release
}

// undoConfig is the apply configuration that restores what the manager gave up on the object or
// a subresource. It has values, also of a Secret.
type undoConfig struct {
	Subresource   string                     `json:"subresource,omitempty"`
	Configuration *unstructured.Unstructured `json:"configuration"`
}

func newUndoFile(verb string, object apply.ObjectRef) undoFile {
	version, kind := object.ToAPIVersionAndKind()
	return undoFile{Undoes: verb, Object: view.Ref{
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

// check returns what is wrong with a file that somebody may have changed.
func (f undoFile) check() error {
	switch {
	case f.Undoes != "migrate" && f.Undoes != "release":
		return fmt.Errorf("undoes is %q", f.Undoes)
	case f.Object.APIVersion == "" || f.Object.Kind == "" || f.Object.Name == "" || f.Object.UID == "":
		return errors.New("the object lacks its apiVersion, kind, name or uid")
	case f.Undoes == "migrate" && len(f.Moved) == 0:
		return errors.New("nothing is in moved")
	case f.Undoes == "migrate" && f.Moved[0].To.Name == "":
		return errors.New("moved[0] went to no manager")
	case f.Undoes == "release" && (len(f.GivenUp) == 0 || f.Manager == ""):
		return errors.New("it lacks the manager, or what was given up")
	}
	for i, part := range f.GivenUp {
		if part.Configuration == nil || string(part.Configuration.GetUID()) != f.Object.UID {
			return fmt.Errorf("givenUp[%d] is not of the object's uid", i)
		}
	}
	return nil
}

func (f undoFile) encode() ([]byte, error) {
	text, err := json.MarshalIndent(f, "", "  ")
	return append(text, '\n'), err
}

func decodeUndo(content []byte) (saved undoFile, err error) {
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.DisallowUnknownFields()
	err = decoder.Decode(&saved)
	_, rest := decoder.Token()
	switch {
	case errors.Is(err, io.EOF):
		return saved, errors.New("it is empty")
	case err != nil:
		return saved, err
	case !errors.Is(rest, io.EOF):
		return saved, errors.New("there is more behind its end")
	}
	return saved, saved.check()
}

// undoPath returns the path of a command's undo file, unless --undo-file gives another one.
func undoPath(verb string, object apply.ObjectRef) string {
	return fmt.Sprintf("undo-%s-%s-%s-%s.json", verb, strings.ToLower(object.Kind), object.Name, object.ResourceVersion)
}

// save writes a file that nobody else may read, as it may have secret values. If the file
// exists already, it stays as it is, and save returns an error.
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
		return fmt.Errorf("nothing was written, as the undo file %s is there already: move it away, or name another one by --undo-file", path)
	case errors.As(err, &cause):
		err = cause.Err
	}
	return fmt.Errorf("nothing was written, as the undo file %s cannot be: %w", path, err)
}

// runUndo undoes what the file of --undo has.
func (e *engine) runUndo(ctx context.Context, args []string) error {
	beside := ""
	e.cmd.LocalNonPersistentFlags().VisitAll(func(flag *pflag.Flag) {
		if flag.Changed && flag.Name != "undo" && flag.Name != "yes" {
			beside = cmp.Or(beside, flag.Name)
		}
	})
	switch {
	case beside != "":
		return console.UsageError(e.cmd, "--%s beside --undo: the file says what is to be taken back", beside)
	case len(args) > 0:
		return console.UsageError(e.cmd, "%q beside --undo: the file says which object is meant", args[0])
	case e.undo == "":
		return console.UsageError(e.cmd, "--undo: which file?")
	}
	source, content, err := e.ReadFile(e.undo)
	if err != nil {
		return err
	}
	saved, err := decodeUndo(content)
	if err != nil {
		return fmt.Errorf("%s: no undo file: %w", source, err)
	}
	if e.client, err = e.Connect(); err != nil {
		return err
	}
	takeBack := e.applyAgain
	if saved.Undoes == "migrate" {
		takeBack = e.moveBack
	}
	found, err := takeBack(ctx, saved)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", source, err)
	case found:
		return console.ErrFound
	}
	return nil
}

// moveBack gives the fields back to those who owned them.
func (e *engine) moveBack(ctx context.Context, saved undoFile) (found bool, err error) {
	applier, err := e.applier(saved.Moved[0].To.Name)
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
		fmt.Fprintf(e.Out, "%v: nothing to give back: %s owns none of these fields any more\n", object, saved.Moved[0].To)
		return false, nil
	}
	e.showTransfer(object, undo)
	return e.carryOut(ctx, change{object: object, count: moves, write: func(ctx context.Context, _, _ string) (string, error) {
		if _, err := undo.Do(ctx); err != nil {
			return "", err
		}
		return fields(moves) + " given back", nil
	}})
}

// applyAgain applies what was given up, and takes nothing from others.
func (e *engine) applyAgain(ctx context.Context, saved undoFile) (found bool, err error) {
	applier, err := e.applier(saved.Manager)
	if err != nil {
		return false, err
	}
	var intents []apply.Intent
	for _, part := range saved.GivenUp {
		intent := apply.Intent{Config: client.ApplyConfigurationFromUnstructured(part.Configuration), Subresource: part.Subresource}
		plan, err := applier.Plan(ctx, intent)
		switch {
		case err != nil:
			return false, err
		case plan.Refused != nil:
			return false, plan.Refused
		case plan.Action == apply.Unchanged:
			fmt.Fprintf(e.Out, "%v: nothing to take back: %s owns all of it\n", plan.Object, saved.Manager)
			continue
		case !e.yes:
			fmt.Fprint(e.Out, plan)
		}
		intents = append(intents, intent)
	}
	return e.carryOut(ctx, change{object: refOf(saved.Object), count: len(intents), write: func(ctx context.Context, _, _ string) (string, error) {
		for _, intent := range intents {
			if _, err := applier.Apply(ctx, intent); err != nil {
				return "", err
			}
		}
		return "taken back by " + saved.Manager, nil
	}})
}
