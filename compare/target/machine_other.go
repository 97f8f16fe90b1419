//go:build !linux

package target

import "errors"

// Properties of the machine are read on Linux only.

func kernel() string { return "" }

func cpuModel() string { return "" }

func memory() uint64 { return 0 }

func fileSystem(string) string { return "" }

func limits() string { return "" }

func allowed() ([]int, error) { return nil, errors.New("pinning to CPU cores requires Linux") }

func confine(int, []int) error { return errors.New("pinning to CPU cores requires Linux") }
