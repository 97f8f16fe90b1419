//go:build !linux

package target

import "errors"

func cpuModel() string { return "" }

func allowed() ([]int, error) { return nil, errors.New("pinning to CPU cores requires Linux") }

func confine(int, []int) error { return errors.New("pinning to CPU cores requires Linux") }
