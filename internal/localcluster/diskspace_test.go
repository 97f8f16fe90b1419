package localcluster

import (
	"errors"
	"strings"
	"testing"
)

func TestCheckSpaceAddsUpOneFileSystem(t *testing.T) {
	disks := map[string]uint64{"/a": 1, "/b": 1, "/c": 2}
	for _, test := range []struct {
		reason string
		free   map[uint64]uint64
		short  string // the folder that the error names last, "" for none
	}{
		{"room for all", map[uint64]uint64{1: 30, 2: 10}, ""},
		{"each fits, but both land on one disk", map[uint64]uint64{1: 29, 2: 10}, "/b"},
		{"the other disk is full", map[uint64]uint64{1: 30, 2: 9}, "/c"},
	} {
		needs := []need{{"x", "/a", 10}, {"y", "/b", 20}, {"z", "/c", 10}}
		err := checkSpace(needs, func(dir string) (uint64, uint64, error) { return disks[dir], test.free[disks[dir]], nil })
		if errors.Is(err, ErrDiskSpace) != (test.short != "") {
			t.Errorf("%s: %v", test.reason, err)
		}
		if err != nil && !strings.Contains(err.Error(), "in "+test.short+",") {
			t.Errorf("%s: %v; want %s named", test.reason, err, test.short)
		}
	}
}

func TestFreeSpaceKnowsTheDisk(t *testing.T) {
	dir := t.TempDir()
	disk, bytes, err := freeSpace(dir)
	other, _, otherErr := freeSpace(dir + "/new")
	if err != nil || otherErr != nil || bytes == 0 || disk != other {
		t.Errorf("freeSpace = %d, %d, %v and %d, %v; want one disk with room", disk, bytes, err, other, otherErr)
	}
}
