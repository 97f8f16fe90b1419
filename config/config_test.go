// Package config_test holds what config/ says against what the code does.
package config_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// object is one document of a file.
type object struct {
	file string
	unstructured.Unstructured
}

// objects reads every object below config/, but for the CRDs and what is for
// kustomize or for people.
func objects(t *testing.T) []object {
	t.Helper()
	var all []object
	notInstalled := []string{"kustomization.yaml", "rules.yaml", "contract.yaml"}
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".yaml" {
			return err
		}
		if strings.HasPrefix(path, "crd") || slices.Contains(notInstalled, entry.Name()) {
			return nil
		}
		read, err := readObjects(path)
		all = append(all, read...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func readObjects(path string) ([]object, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var read []object
	for decoder := yaml.NewYAMLOrJSONDecoder(file, 1<<16); ; {
		o := object{file: path}
		if err := decoder.Decode(&o.Object); errors.Is(err, io.EOF) {
			return read, nil
		} else if err != nil {
			return nil, err
		}
		if o.Object != nil {
			read = append(read, o)
		}
	}
}

// ofKind gives the objects of a kind as the type.
func ofKind[T any](t *testing.T, kind string) map[string]T {
	t.Helper()
	found := map[string]T{}
	for _, o := range objects(t) {
		if o.GetKind() != kind {
			continue
		}
		var typed T
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, &typed, true); err != nil {
			t.Fatalf("%s: %v", o.file, err)
		}
		found[o.GetName()] = typed
	}
	if len(found) == 0 {
		t.Fatalf("no %s in config/", kind)
	}
	return found
}

// TestEveryFileIsInstalled finds files that no kustomization names.
func TestEveryFileIsInstalled(t *testing.T) {
	for _, o := range objects(t) {
		folder, name := filepath.Split(o.file)
		kustomization, err := os.ReadFile(filepath.Join(folder, "kustomization.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(kustomization), "\n- "+name+"\n") {
			t.Errorf("%skustomization.yaml does not name %s", folder, name)
		}
	}
}
