package target

import (
	"runtime/debug"
	"strings"
)

// commit returns the commit of coapply from which this program was built, with "+changes" for a checkout with changes.
// It returns "" for a program that imports the benchmark, and for go run and go test, which record no commit.
func commit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || !strings.HasPrefix(info.Main.Path, "coapply.dev") {
		return ""
	}
	settings := map[string]string{}
	for _, setting := range info.Settings {
		settings[setting.Key] = setting.Value
	}
	if settings["vcs.modified"] == "true" {
		return settings["vcs.revision"] + "+changes"
	}
	return settings["vcs.revision"]
}
