package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"coapply.dev/apply"
	"coapply.dev/apply/ownership"
	"coapply.dev/fieldowners"
)

// savedTransfer is the undo file of migrate. It is stable: fields may be added, none
// is renamed, removed or given another meaning.
type savedTransfer struct {
	Undoes string                 `json:"undoes"` // "migrate"
	Object savedObject            `json:"object"`
	Moved  []fieldowners.Handover `json:"moved"`
}

type savedObject struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
	UID        string `json:"uid"`
}

func encodeTransfer(object apply.ObjectRef, moved []fieldowners.Handover) ([]byte, error) {
	version, kind := object.ToAPIVersionAndKind()
	text, err := json.MarshalIndent(savedTransfer{
		Undoes: "migrate", Moved: moved,
		Object: savedObject{version, kind, object.Namespace, object.Name, string(object.UID)},
	}, "", "  ")
	return append(text, '\n'), err
}

// do moves what was shown, with its undo saved before.
func (m *migrateCommand) do(ctx context.Context, object apply.ObjectRef, shown *ownership.Transfer) error {
	path := cmp.Or(m.undoFile, undoPath("migrate", object, ".json"))
	saved, err := encodeTransfer(object, shown.Moves())
	if err == nil {
		err = saveUndo(path, saved)
	}
	if err != nil {
		return err
	}
	command := commandLine(m.cmd, "--undo", path, "--yes")
	undo, err := shown.Do(ctx)
	switch {
	case err != nil && undo == nil:
		return errors.Join(err, os.Remove(filepath.Clean(path))) // nothing moved
	case err != nil:
		return fmt.Errorf("it may have moved: look again; to undo it then: %s (%w)", command, err)
	}
	if err := correct(path, saved, object, undo); err != nil {
		return fmt.Errorf("%v: moved, but its undo file could not be brought up to date: %w", object, err)
	}
	fmt.Fprintf(m.Out, "%v: %s moved; to undo it:\n  %s\n", object, fields(len(shown.Moves())), command)
	return nil
}

// correct writes the undo file anew if the receiver came to own some of the fields
// itself just before they moved.
func correct(path string, saved []byte, object apply.ObjectRef, undo *ownership.Transfer) error {
	var moved []fieldowners.Handover
	for _, back := range undo.Moves() {
		moved = append(moved, fieldowners.Handover{
			Path: back.Path, From: back.To, To: back.From, FromKeeps: back.ToOwned, ToOwned: back.FromKeeps,
		})
	}
	exact, err := encodeTransfer(object, moved)
	if err != nil || bytes.Equal(exact, saved) {
		return err
	}
	return os.WriteFile(filepath.Clean(path), exact, 0o600)
}

func (m *migrateCommand) runUndo(ctx context.Context, args []string) error {
	for _, flag := range []string{"from", "to", "operation", "path", "undo-file"} {
		if m.cmd.Flags().Changed(flag) {
			return usageError(m.cmd, "--%s beside --undo: the file says what is to go back", flag)
		}
	}
	if len(args) > 0 {
		return usageError(m.cmd, "%q beside --undo: the file says which object is meant", args[0])
	}
	if m.undo == "" {
		return usageError(m.cmd, "--undo: which file?")
	}
	source, content, err := m.readFile(m.undo)
	if err != nil {
		return err
	}
	saved, err := decodeTransfer(content)
	if err != nil {
		return fmt.Errorf("%s: no undo file of migrate: %w", source, err)
	}
	if m.client, err = m.connect(); err != nil {
		return err
	}
	found, err := m.giveBack(ctx, saved)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", source, err)
	case found:
		return errFound
	}
	return nil
}

func decodeTransfer(content []byte) (saved savedTransfer, err error) {
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
	case saved.Undoes != "migrate":
		return saved, fmt.Errorf("undoes is %q", saved.Undoes)
	case saved.Object.APIVersion == "" || saved.Object.Kind == "" || saved.Object.Name == "" || saved.Object.UID == "":
		return saved, errors.New("the object lacks its apiVersion, kind, name or uid")
	case len(saved.Moved) == 0:
		return saved, errors.New("nothing is in moved")
	case saved.Moved[0].To.Name == "":
		return saved, errors.New("moved[0] went to no manager")
	}
	return saved, nil
}

func (m *migrateCommand) giveBack(ctx context.Context, saved savedTransfer) (found bool, err error) {
	object := apply.ObjectRef{
		GroupVersionKind: schema.FromAPIVersionAndKind(saved.Object.APIVersion, saved.Object.Kind),
		NamespacedName:   types.NamespacedName{Namespace: saved.Object.Namespace, Name: saved.Object.Name},
		UID:              types.UID(saved.Object.UID),
	}
	applier, err := apply.New(m.client, apply.Config{FieldManager: saved.Moved[0].To.Name, LiveReader: m.client})
	if err != nil {
		return false, err
	}
	undo, err := ownership.Undo(ctx, applier, object, saved.Moved)
	if err != nil {
		return false, err
	}
	moves := len(undo.Moves())
	if moves == 0 {
		fmt.Fprintf(m.Out, "%v: nothing to give back: %s owns none of these fields any more\n", object, saved.Moved[0].To)
		return false, nil
	}
	m.show(object, undo)
	if !m.yes {
		return m.dryRun(moves), nil
	}
	if _, err := undo.Do(ctx); err != nil {
		return false, err
	}
	fmt.Fprintf(m.Out, "%v: %s given back\n", object, fields(moves))
	return false, nil
}
