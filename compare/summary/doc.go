// Package summary turns the trials of a run into what its report shows: a row for each arm in each cell, comparisons
// within blocks, the answers to the four questions, and the checks that the run has to pass. It is pure: the same trials
// give the same summary. What is asked and compared stands in decided.yaml, before the run.
package summary
