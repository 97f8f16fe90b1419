package apply

import (
	"testing"

	"coapply.dev/test/kit"
	"coapply.dev/test/kit/memory"
)

func TestMain(m *testing.M) {
	const (
		kinds    = "kinds that the API server in memory does not model: Pod, Node, HorizontalPodAutoscaler, PriorityClass, PodDisruptionBudget"
		webhooks = "admission webhooks"
		rights   = "authorization"
		timing   = "writers that overlap: a server in memory answers before the next writer comes"
	)
	kit.InMemory(memory.Start, map[string]string{
		"TestDecisionsAcrossVersions": kinds, "TestFactsOfRefusals": kinds, "TestLoopOfDeletions": kinds, "TestLoopOfAClusterScopedObject": kinds,
		"TestPruneHoldsParentsWithoutAGeneration": kinds, "TestAnswersAreAsReads": kinds, "TestInformerOfAnotherVersion": kinds,
		"TestFinalizerOfANewerPod": kinds, "TestCacheBehindTheFallback": kinds, "TestBirthAgainstIntruders": kinds,
		"TestNarrowItemsOfADeployment": kinds, "TestDropInWakesAsOften": kinds,

		"TestNotFoundWhilePruning": webhooks, "TestNotFoundWhileReleasing": webhooks, "TestNotFoundWhileDeletingMembers": webhooks,
		"TestNotFoundWhileDeletingMembersByHand": webhooks, "TestNotFoundOfWebhook": webhooks, "TestNotFoundOfWebhookThroughClient": webhooks,
		"TestNotFoundOfAbsentObject": webhooks, "TestSecretRefusals": webhooks,

		"TestFactsOfManagerNames": rights, "TestPruneNamesTheMissingRight": rights, "TestFirstDayWithoutRight": rights,

		"TestOneRequestAWrite": timing,
	})
	kit.Main(m)
}
