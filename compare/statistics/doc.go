// Package statistics compares what trials measured. It is pure: the same numbers give the same answer.
//
// The trial is the unit. Two arms are compared within blocks, so that what a block shares (a noisy neighbour, a full
// disk) cancels out: the mean of the logarithms of their ratios, with Student's interval. Each comparison belongs to a
// family that was named before the run, and its verdict is adjusted for the size of that family.
package statistics

// Confidence of every interval; what is left is the error that a whole family of verdicts may make.
const Confidence = 0.95

// EnoughForInterval is how many samples an interval needs: of two, Student's is so wide that it says nothing.
const EnoughForInterval = 3
