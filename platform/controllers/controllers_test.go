package controllers_test

import (
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"coapply.dev/platform/controllers"
)

// TestEveryReconcilerIsListed finds a folder whose reconciler cmd/manager does not run.
func TestEveryReconcilerIsListed(t *testing.T) {
	listed := map[string]bool{"fieldmanagers": true, "setup": true} // no reconcilers
	for _, c := range controllers.All() {
		if c.Setup == nil { // the Runtime does it
			listed[c.Name] = true
			continue
		}
		name := runtime.FuncForPC(reflect.ValueOf(c.Setup).Pointer()).Name() // path/of/package.Func
		folder, _, _ := strings.Cut(name[strings.LastIndex(name, "/")+1:], ".")
		listed[folder] = true
	}
	folders, err := filepath.Glob("*/*.go")
	if err != nil || len(folders) == 0 {
		t.Fatal("no reconcilers", err)
	}
	for _, file := range folders {
		if folder := filepath.Dir(file); !listed[folder] {
			t.Errorf("controllers.All does not list the reconciler of %s", folder)
		}
	}
}
