// Package report shows a run: one self-contained HTML page for a design review, and the same in short as Markdown.
//
// It is pure: data in, bytes out, and the same data gives the same bytes. A page needs no network and runs no script,
// which its Content-Security-Policy enforces. Names, errors and values come from whoever wrote the arm, the workload or
// the object, so they pass through html/template only, as text. What is nil is shown as "n/a", never as 0.
package report
