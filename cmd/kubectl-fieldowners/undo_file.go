package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"coapply.dev/apply"
	"coapply.dev/fieldowners/command"
)

// undoPath is where the undo of a command goes unless --undo-file says otherwise.
func undoPath(command string, object apply.ObjectRef, extension string) string {
	return fmt.Sprintf("undo-%s-%s-%s-%s%s", command, strings.ToLower(object.Kind), object.Name, object.ResourceVersion, extension)
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

// commandLine gives a command of ours that a person can run as it stands, in a shell:
// on the cluster that this one was told to use.
func commandLine(cmd *cobra.Command, words ...string) string {
	var line strings.Builder
	line.WriteString(cmd.CommandPath())
	for _, flag := range []string{"kubeconfig", "context", "cluster", "user", "server", "as"} {
		if set := cmd.Flags().Lookup(flag); set != nil && set.Changed {
			words = append(words, "--"+flag, set.Value.String())
		}
	}
	if groups, err := cmd.Flags().GetStringArray("as-group"); err == nil {
		for _, group := range groups {
			words = append(words, "--as-group", group)
		}
	}
	for _, word := range words {
		line.WriteString(" " + command.Quote(word))
	}
	return line.String()
}
