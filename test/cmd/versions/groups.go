package main

// groups are what is run on each version of Kubernetes: what rests on how its API server applies, owns, validates and
// admits. A test belongs to a group if all of its name after "Test" matches.
var groups = []group{
	{name: "facts", pkg: "./test/integration/apply", tests: "FactsOf.*"},
	{name: "decisions", pkg: "./test/integration/apply", tests: "Decisions.*|Stories|NothingIsLeftOfTheIntent|" +
		"TwoItemsWithOneKeyInCommon|GivingWay.*|WhatWasLeftIsNoLongerValid|" +
		"OurValueOverTheirMapIsNoConflict|MembersOfASetAreNeverInDispute|TwoFieldsOfOneName|SteadyState|" +
		"FieldIsOursWhenTheOtherLetsGo|WrongIntents|SubresourceOfAnAbsentObject|WrongPolicies|ServerRefusals"},
	{name: "transfers", pkg: "./test/integration/ownership", tests: ".*"},
	{name: "steady state", pkg: "./test/integration/steady", tests: ".*"},
	{name: "narrow writes", pkg: "./test/integration/apply", tests: "Narrow.*|CoOwnedFinalizer|FinalizerOfANewerPod|.*Fallback"},
	{name: "plugin", pkg: "./test/integration/plugin", tests: ".*"},
	{name: "platform", pkg: "./test/integration/platform", tests: ".*"},
	{name: "install", pkg: "./test/integration/delivery", tests: "Admission|Install.*|Uninstall", whole: true},
}

// expected has the tests that fail on a version of Kubernetes, and why: by version and test, as in "1.36.3 TestX/of this".
var expected = map[string]string{}
