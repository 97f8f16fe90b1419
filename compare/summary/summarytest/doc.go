// Package summarytest makes up runs for tests: figures as a machine with two cores might give them, the same each time.
// Nothing in them was measured.
package summarytest
