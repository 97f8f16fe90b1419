//go:build !linux

package target

// What the machine is, is read on Linux only.

func kernel() string { return "" }

func cpuModel() string { return "" }

func memory() uint64 { return 0 }

func fileSystem(string) string { return "" }

func limits(string) string { return "" }
