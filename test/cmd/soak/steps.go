package main

// steps are the steps of a soak. Each can also be run alone. Steps with many random cases use -v, to print the number
// of cases by result.
var steps = []step{
	{
		name:        "races",
		arguments:   []string{"-v", "-run", "^Test(ForceStealsNothing|UnpinnedForceSteals|TransferRaces)$", "./test/integration/apply", "./test/integration/ownership"},
		environment: []string{"COAPPLY_RACES=10000"},
	},
	{
		name:        "cases of the steady state",
		arguments:   []string{"-v", "-run", "^TestSteady(Property|GivesWay)$", "./test/integration/steady"},
		environment: []string{"COAPPLY_CASES=20000"},
	},
	{
		name:        "cases of whatif",
		arguments:   []string{"-v", "-run", "^TestWhatIf$", "./test/integration/steady"},
		environment: []string{"COAPPLY_CASES=20000"},
	},
	{
		name:        "cases of narrow writes, and of the server in memory",
		arguments:   []string{"-v", "-run", "^Test(NarrowProperty|Traces)$", "./test/integration/apply", "./test/integration/memory"},
		environment: []string{"COAPPLY_CASES=20000"},
	},
	{
		name:        "random schedules",
		arguments:   []string{"-v", "-run", "^TestWalks$", "./test/explore"},
		environment: []string{"COAPPLY_CASES=30"},
	},
	{
		name:      "random intents",
		arguments: []string{"-v", "-run", "^Test(Model|RandomIntents|PlanOfRandomIntents)$", "./test/integration/apply", "-model.steps=15000"},
	},
	{
		name:        "faults",
		arguments:   []string{"-v", "-run", "^Test(Matrix|RandomFaults|KilledServers|Troubles|WebhookThatChangesOurField|TerminatingNamespace|NamespaceGoes|CRDRemoved)$", "."},
		environment: []string{"COAPPLY_CASES=60"},
		module:      "test/faults",
	},
	{name: "thefts", arguments: []string{"-v", "."}, module: "cmd/ownlint/theft"},
	{name: "neighbours", arguments: []string{"-v", "."}, module: "test/neighbours", compiles: true},
	{name: "scale", arguments: []string{"-run", "^TestScale$", "./test/integration/platform"}},
	{name: "a leader that is killed", arguments: []string{"-run", "^TestLeaderKilled$", "./test/integration/delivery"}},
	{name: "install and upgrade", arguments: []string{"-run", "^Test(Install|Uninstall)$", "./test/integration/delivery"}},
	{name: "tokens that are replaced", arguments: []string{"-run", "^TestToken$", "./test/integration/delivery"}},
	{name: "the demo as recorded", arguments: []string{"-run", "^TestDemoAsRecorded$", "./test/integration/delivery"}},
	{name: "control planes that are killed", arguments: []string{"./test/integration/localcluster"}},
	{name: "a release", arguments: []string{"./test/release"}, compiles: true},
	{name: "unit tests", arguments: []string{".", "./apply/...", "./cmd/...", "./examples/...", "./fieldowners/...", "./internal/...", "./platform/..."}},
	{name: "apply", arguments: []string{"-short", "./test/integration/apply"}},
	{name: "steady", arguments: []string{"-short", "./test/integration/steady"}},
	{name: "ownership", arguments: []string{"-short", "./test/integration/ownership"}},
	{name: "platform", arguments: []string{"-short", "./test/integration/platform"}},
	{name: "plugin", arguments: []string{"-short", "./test/integration/plugin"}},
	{name: "delivery", arguments: []string{"-short", "./test/integration/delivery"}},
	{name: "compare", arguments: []string{"-short", "./..."}, module: "compare"},
	{name: "peers", arguments: []string{"./peers/..."}, module: "compare"},
	{name: "Kubernetes 1.36.3", arguments: []string{"-short", "./test/integration/apply", "./test/integration/steady", "./test/integration/ownership"},
		environment: []string{"K8S=1.36.3", "COAPPLY_TEST_SERVER=", "COAPPLY_TEST_CLUSTER="}}, // servers of its own
}
