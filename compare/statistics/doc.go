// Package statistics reckons with trials: means and ratios with their 95 % intervals, an exact test, its correction for
// many comparisons, and the words for what they show. It is pure: the same numbers give the same answer.
//
// The trial is the unit. Ratios are paired by block: what a block shares, such as a noisy neighbour, cancels out.
package statistics

// Confidence of every interval.
const Confidence = 0.95

// significant is the largest adjusted p at which a difference is called one.
const significant = 1 - Confidence
