package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// version is what the go command has recorded: the module's version where it was
// installed by go install, the commit where it was built from a checkout.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return name + " (unknown version)"
	}
	commit := "unknown"
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			commit = setting.Value
		}
	}
	return fmt.Sprintf("%s %s %s/%s %s commit %s", name, info.Main.Version, runtime.GOOS, runtime.GOARCH, info.GoVersion, commit)
}
