// Package bench makes a run: which cells, in which order, and what was measured kept trial by trial.
package bench
