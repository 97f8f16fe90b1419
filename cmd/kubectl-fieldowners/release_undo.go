package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"coapply.dev/apply"
)

// save writes the undo files, one a part, or none; the commands take them back.
func (r *releaseCommand) save(looked lookedAt) (files, commands []string, err error) {
	base := cmp.Or(r.undoFile, undoPath("release", looked.object, ".yaml"))
	for _, part := range looked.parts {
		if part.undo == nil {
			continue
		}
		path := base
		if extension := filepath.Ext(base); part.subresource != "" {
			path = strings.TrimSuffix(base, extension) + "-" + part.subresource + extension
		}
		text, err := yaml.Marshal(part.undo.Object)
		if err == nil {
			err = saveUndo(path, text)
		}
		if err != nil {
			return nil, nil, errors.Join(err, discard(files))
		}
		words := []string{"--undo", path, "--field-manager", r.manager}
		if part.subresource != "" {
			words = append(words, "--subresource", part.subresource)
		}
		files, commands = append(files, path), append(commands, commandLine(r.cmd, append(words, "--yes")...))
	}
	return files, commands, nil
}

// discard removes files of ours that undo what was not done.
func discard(files []string) (err error) {
	for _, path := range files {
		err = errors.Join(err, os.Remove(filepath.Clean(path)))
	}
	return err
}

func (r *releaseCommand) runUndo(ctx context.Context, args []string) error {
	switch {
	case r.undo == "":
		return usageError(r.cmd, "--undo: which file?")
	case len(args) > 0:
		return usageError(r.cmd, "%q beside --undo: the file says which object is meant", args[0])
	case r.undoFile != "":
		return usageError(r.cmd, "--undo-file beside --undo: an undo saves none")
	}
	config, err := r.readUndo()
	if err != nil {
		return err
	}
	if r.client, err = r.connect(); err != nil {
		return err
	}
	found, err := r.takeBack(ctx, config)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", r.undo, err)
	case found:
		return errFound
	}
	return nil
}

func (r *releaseCommand) readUndo() (config *unstructured.Unstructured, err error) {
	err = r.readFiles([]string{r.undo}, func(source string, object map[string]any) error {
		switch {
		case config != nil:
			return fmt.Errorf("%s: a second object: no undo file of release", source)
		case (&unstructured.Unstructured{Object: object}).GetUID() == "":
			return fmt.Errorf("%s: metadata.uid is missing: no undo file of release", source)
		}
		config = &unstructured.Unstructured{Object: object}
		return nil
	})
	return config, err
}

// takeBack applies what was given up, and takes nothing from others.
func (r *releaseCommand) takeBack(ctx context.Context, config *unstructured.Unstructured) (found bool, err error) {
	applier, err := apply.New(r.client, apply.Config{FieldManager: r.manager, LiveReader: r.client})
	if err != nil {
		return false, err
	}
	intent := apply.Intent{Config: client.ApplyConfigurationFromUnstructured(config), Subresource: r.subresource}
	plan, err := applier.Plan(ctx, intent)
	if err == nil {
		err = plan.Refused
	}
	switch {
	case err != nil:
		return false, err
	case plan.Action == apply.Unchanged:
		fmt.Fprintf(r.Out, "%v: nothing to take back: %s owns all of it\n", plan.Object, r.manager)
		return false, nil
	case !r.yes:
		fmt.Fprint(r.Out, plan)
		return r.dryRun(1), nil
	}
	if _, err := applier.Apply(ctx, intent); err != nil {
		return false, err
	}
	fmt.Fprintf(r.Out, "%v: taken back by %s\n", plan.Object, r.manager)
	return false, nil
}
