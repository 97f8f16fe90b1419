package ownership

import (
	"testing"

	"coapply.dev/test/kit"
	"coapply.dev/test/kit/memory"
)

func TestMain(m *testing.M) {
	kit.InMemory(memory.Start, map[string]string{
		"TestReleaseInAnotherVersion": "HorizontalPodAutoscaler in two versions", "TestMigrateVersions": "HorizontalPodAutoscaler in two versions",
		"TestMigratingMain": "a process of its own",
	})
	kit.Main(m)
}
