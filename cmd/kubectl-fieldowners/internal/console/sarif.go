package console

import (
	"net/url"
	"path/filepath"
	"strings"

	"github.com/owenrumney/go-sarif/v2/sarif"
)

// NewSarif returns a run of the plugin without results.
func NewSarif() *sarif.Run {
	return sarif.NewRun(sarif.Tool{Driver: &sarif.ToolComponent{Name: Name, Rules: []*sarif.ReportingDescriptor{}}})
}

// PrintSarif prints one run as SARIF 2.1.0, for tools that show findings beside the code.
func (c *Console) PrintSarif(run *sarif.Run) error {
	report, err := sarif.New(sarif.Version210)
	if err != nil {
		return err
	}
	report.AddRun(run)
	return c.Structured("json", report)
}

// LineOf returns a line of a file for SARIF. A relative path stays a relative reference, to the
// root of what is checked.
func LineOf(path string, line int) *sarif.Location {
	uri := url.URL{Path: filepath.ToSlash(path)}
	if filepath.IsAbs(path) {
		uri.Scheme, uri.Path = "file", "/"+strings.TrimPrefix(uri.Path, "/") // C:/ too
	}
	return sarif.NewLocationWithPhysicalLocation(sarif.NewPhysicalLocation().
		WithArtifactLocation(sarif.NewSimpleArtifactLocation(uri.String())).
		WithRegion(sarif.NewRegion().WithStartLine(line)))
}
