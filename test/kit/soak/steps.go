package main

// steps are what a soak is made of. Each is worth running alone.
var steps = []step{
	{"races", []string{"-run", "^Test(ForceStealsNothing|UnpinnedForceSteals|TransferRaces)$", "./test/integration/apply", "./test/integration/ownership"},
		[]string{"COAPPLY_RACES=10000"}},
	{"cases of the steady state", []string{"-run", "^TestSteady(Property|GivesWay)$", "./test/integration/steady"}, []string{"COAPPLY_CASES=20000"}},
	{"cases of narrow writes", []string{"-run", "^TestNarrowProperty$", "./test/integration/apply"}, []string{"COAPPLY_CASES=20000"}},
	{"random intents", []string{"-run", "^Test(Model|RandomIntents|PlanOfRandomIntents)$", "./test/integration/apply", "-model.steps=15000"}, nil},
	{"scale", []string{"-run", "^TestScale$", "./test/integration/platform"}, nil},
	{"a leader that is killed", []string{"-run", "^TestLeaderKilled$", "./test/integration/delivery"}, nil},
	{"install and upgrade", []string{"-run", "^Test(Install|Uninstall)$", "./test/integration/delivery"}, nil},
	{"control planes that are killed", []string{"./test/integration/localcluster"}, nil},
	{"unit tests", []string{"./api/...", "./apply/...", "./cmd/...", "./compare/...", "./examples/...", "./fieldowners/...", "./internal/..."}, nil},
	{"apply", []string{"-short", "./test/integration/apply"}, nil},
	{"steady", []string{"-short", "./test/integration/steady"}, nil},
	{"ownership", []string{"-short", "./test/integration/ownership"}, nil},
	{"platform", []string{"-short", "./test/integration/platform"}, nil},
	{"plugin", []string{"-short", "./test/integration/plugin"}, nil},
	{"delivery", []string{"-short", "./test/integration/delivery"}, nil},
	{"Kubernetes 1.36.3", []string{"-short", "./test/integration/apply", "./test/integration/steady", "./test/integration/ownership"},
		[]string{"K8S=1.36.3", "COAPPLY_TEST_SERVER=", "COAPPLY_TEST_CLUSTER="}}, // servers of its own
	{"compare", []string{"-short", "./test/integration/compare"}, nil},
}
