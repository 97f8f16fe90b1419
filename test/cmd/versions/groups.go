package main

// groups are the tests that are run on each version of Kubernetes: they depend on how the API server applies, tracks
// owners, validates and admits. A test belongs to a group if its whole name after "Test" matches the pattern.
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

// expected maps tests that fail on a version of Kubernetes to the reasons. A key looks like "1.36.3 TestX/of this".
var expected = map[string]string{}
