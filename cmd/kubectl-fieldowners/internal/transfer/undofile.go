package transfer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"coapply.dev/apply"
	"coapply.dev/fieldowners"
)

// undoFile is what release and migrate save before they write. It is stable: fields may
// be added, none is renamed, removed or given another meaning.
type undoFile struct {
	Undoes  string                 `json:"undoes"` // "migrate" or "release"
	Object  undoObject             `json:"object"`
	Moved   []fieldowners.Handover `json:"moved,omitempty"`   // by migrate
	Manager string                 `json:"manager,omitempty"` // of what release gave up
	GivenUp []undoConfig           `json:"givenUp,omitempty"` // by release
}

type undoObject struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
	UID        string `json:"uid"`
}

// undoConfig is the apply configuration that brings back what the manager gave up of the
// object or of a subresource. It holds values, those of a Secret too.
type undoConfig struct {
	Subresource   string                     `json:"subresource,omitempty"`
	Configuration *unstructured.Unstructured `json:"configuration"`
}

func newUndoFile(verb string, object apply.ObjectRef) undoFile {
	version, kind := object.ToAPIVersionAndKind()
	return undoFile{Undoes: verb, Object: undoObject{version, kind, object.Namespace, object.Name, string(object.UID)}}
}

func (o undoObject) ref() apply.ObjectRef {
	return apply.ObjectRef{
		GroupVersionKind: schema.FromAPIVersionAndKind(o.APIVersion, o.Kind),
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

// undoPath is where the undo of a command goes unless --undo-file says otherwise.
func undoPath(verb string, object apply.ObjectRef) string {
	return fmt.Sprintf("undo-%s-%s-%s-%s.json", verb, strings.ToLower(object.Kind), object.Name, object.ResourceVersion)
}

// saveUndo writes a file that nobody else may read, as it may hold values that are
// secret. A file that is there already stays as it is: it is an error.
func saveUndo(path string, content []byte) (err error) {
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
