// Package summary reckons the results of a run from its trials: cells, comparisons, checks of honesty, hypotheses, claims
// and the verdict. It is pure: the same run and trials give the same results, to the byte.
package summary
