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
	text := fmt.Sprintf("%s %s %s/%s %s", name, info.Main.Version, runtime.GOOS, runtime.GOARCH, info.GoVersion)
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			text += " commit " + setting.Value
		}
	}
	return text
}
