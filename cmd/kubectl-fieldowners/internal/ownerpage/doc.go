// Package ownerpage writes ownership as one self-contained HTML page, to be put into a
// review: of objects, and of an audit.
//
// It is pure: data in, text out. A page needs no network and runs no script, which its
// Content-Security-Policy enforces. Names and values come from objects that anybody may
// have written, so they pass through html/template only, as text.
package ownerpage
