// Package report shows a run: one self-contained HTML page for a design review, and the same as Markdown of a few pages.
//
// It is pure: data in, bytes out, and the same data gives the same bytes. A page needs no network and runs no script,
// which its Content-Security-Policy enforces. Names, errors and values come from whoever wrote the arm, the workload or
// the object, so they pass through html/template only, as text. What was not measured is "n/a", never 0.
package report
