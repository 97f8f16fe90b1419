package ownership

import (
	"testing"

	"coapply.dev/test/kit"
)

func TestMain(m *testing.M) {
	kit.InMemory(map[string]string{
		"TestReleaseInAnotherVersion": "HorizontalPodAutoscaler in two versions", "TestMigrateVersions": "HorizontalPodAutoscaler in two versions",
		"TestMigratingMain": "a process of its own",
	})
	kit.Main(m)
}
