package owneraudit

import (
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/cmd/kubectl-fieldowners/internal/ownerview"
	"coapply.dev/fieldowners"
	"coapply.dev/fieldowners/lint"
)

// Object is what an audit needs of an object.
type Object struct {
	Ref

	ManagedFields []metav1.ManagedFieldsEntry
	Unread        []error // entries that are no entries at all
	Facts         lint.Facts
}

// Audit sums up objects, one after another. Use New.
type Audit struct {
	report   Report
	managers map[Manager]*managerTally
	findings map[findingKey]*Finding
	overlaps map[[2]Manager]*Overlap

	held *held // nil: there is no contract

	// Of the object that is being added:
	holders []*managerTally // its managers, each once
	scan    scan
	pairs   map[holderPair]int
}

// New returns an audit of no object yet.
func New() *Audit {
	return &Audit{
		managers: map[Manager]*managerTally{},
		findings: map[findingKey]*Finding{},
		overlaps: map[[2]Manager]*Overlap{},
		pairs:    map[holderPair]int{},
	}
}

// Add counts an object, and reports whether anything is found. Entries that cannot be
// read are problems; the others count.
func (a *Audit) Add(o Object) (found bool) {
	a.report.Objects++
	for _, err := range o.Unread {
		a.Problem(fmt.Errorf("%s: %w", o.Ref, err))
	}
	if len(o.ManagedFields) == 0 {
		if len(o.Unread) == 0 {
			a.report.ManagedFieldsAbsent++
		}
		return false
	}
	findings, err := lint.Check(o.ManagedFields, o.Facts)
	if err != nil {
		o.ManagedFields = a.readable(o)
		if findings, err = lint.Check(o.ManagedFields, o.Facts); err != nil {
			a.Problem(fmt.Errorf("%s: %w", o.Ref, err))
			return false
		}
	}
	findings, byContract := a.held.compare(o, findings)
	a.countEntries(o)
	a.countFields(o)
	a.countFindings(o.Ref, findings, false)
	a.countFindings(o.Ref, byContract, true)
	return len(findings)+len(byContract) > 0
}

// readable returns the entries that can be read; of each other one it notes why not.
func (a *Audit) readable(o Object) []metav1.ManagedFieldsEntry {
	var good []metav1.ManagedFieldsEntry
	for i := range o.ManagedFields {
		_, err := fieldowners.Parse(o.ManagedFields[i : i+1])
		if err == nil {
			good = append(good, o.ManagedFields[i])
			continue
		}
		if wrong := (*fieldowners.EntryError)(nil); errors.As(err, &wrong) {
			err = &fieldowners.EntryError{Index: i, Manager: wrong.Manager, Err: wrong.Err}
		}
		a.Problem(fmt.Errorf("%s: %w", o.Ref, err))
	}
	return good
}

// Problem notes that something could not be read.
func (a *Audit) Problem(err error) {
	a.report.ProblemCount++
	if len(a.report.Problems) < MaxProblems {
		a.report.Problems = append(a.report.Problems, ownerview.Safe(err.Error()))
	}
}

// Listed notes that a kind was read, as far as it could be.
func (a *Audit) Listed(l List) { a.report.Lists = append(a.report.Lists, l) }

// Objects returns how many objects were added.
func (a *Audit) Objects() int { return a.report.Objects }

// String names the object for sentences.
func (r Ref) String() string {
	name := r.Name
	if r.Namespace != "" {
		name = r.Namespace + "/" + r.Name
	}
	return r.Kind + " " + name
}

// later returns the later of two times; a nil one is not known.
func later(known *time.Time, then *metav1.Time) *time.Time {
	if then == nil || then.IsZero() || known != nil && !then.After(*known) {
		return known
	}
	return new(then.UTC())
}
