package oracle

import "coapply.dev/compare/history"

type example struct {
	name  string
	story *story
	want  string
}

func start(pairs ...string) *story { return new(story).is(10, pairs...) }

var setting = []example{
	{"nothing", new(story), "0/0"},
	{"two writers of disjoint fields", start().did(1, 11, "a", "1").did(2, 12, "b", "1").is(11, "a", "1").is(12, "a", "1", "b", "1"), "2/2"},
	{"acknowledgements out of order", start().did(2, 12, "b", "1").did(1, 11, "a", "1").is(11, "a", "1").is(12, "a", "1", "b", "1"), "2/2"},
	{"a write that changes nothing is answered with the revision of another", start("a", "1").did(1, 10, "a", "1"), "1/1"},
	{
		"the value that was acknowledged is not there",
		start("a", "1").did(1, 11, "a", "2").is(11, "a", "3"), "1/0; not-found a@11 of 1 by 1: 1>3",
	},
	{
		"a write that is answered with a revision which was superseded before it began",
		start().did(1, 11, "a", "1").at(1, 2).did(2, 12, "a", "2").as("1").at(3, 4).did(3, 11, "a", "1").at(5, 6).
			is(11, "a", "1").is(12, "a", "2"), "3/2; not-found a@12 of 3 by 2: 1>2",
	},
	{
		"the same, but it began in time",
		start().did(1, 11, "a", "1").at(1, 2).did(2, 12, "a", "2").as("1").at(3, 6).did(3, 11, "a", "1").at(5, 6).
			is(11, "a", "1").is(12, "a", "2"), "3/3",
	},
	{
		"a field vanishes under another one's write",
		start().did(1, 11, "a", "1").did(2, 12, "b", "1").is(11, "a", "1").is(12, "b", "1"), "2/2; lost a@12 of 1 by 2: 1>",
	},
	{
		"a field goes to what nobody wanted",
		start().did(1, 11, "a", "1").did(2, 12, "b", "1").is(11, "a", "1").is(12, "a", "9", "b", "1"),
		"2/2; lost a@12 of 1 by 2: 1>9",
	},
	{
		"a PUT without resourceVersion brings the value before back",
		start("a", "0").did(1, 11, "a", "1").did(2, 12, "b", "1").is(11, "a", "1").is(12, "a", "0", "b", "1"),
		"2/2; resurrected a@12 of 1 by 2: 1>0",
	},
	{
		"the same brings back what was removed",
		start("a", "0").did(1, 11, "a", "").did(2, 12, "b", "1").is(11).is(12, "a", "0", "b", "1"),
		"2/2; resurrected a@12 of 1 by 2: >0",
	},
	{
		"what stood at the start is lost like any other",
		start("a", "0").did(2, 12, "b", "1").is(12, "b", "1"), "1/1; lost a@12 of -1 by 2: 0>",
	},
	{
		"a manager gives up what its other writer applied",
		start().did(1, 11, "a", "1").did(2, 12, "b", "1").as("1").is(11, "a", "1").is(12, "b", "1"), "2/2",
	},
	{
		"two writers under one manager that want the same field",
		start().did(1, 11, "a", "1").did(2, 12, "a", "2").as("1").is(11, "a", "1").is(12, "a", "2"), "2/2",
	},
	{
		"a writer gives up its own field, and it comes back",
		start().did(1, 11, "a", "1").did(1, 12, "b", "1").did(2, 13, "c", "1").
			is(11, "a", "1").is(12, "b", "1").is(13, "a", "1", "b", "1", "c", "1"),
		"3/3; resurrected a@13 of 1 by 2: >1",
	},
	{
		"a manager's value goes to another under its own write",
		start("a", "0").did(1, 11, "a", "1").did(2, 12, "b", "1").as("1").is(11, "a", "1").is(12, "a", "0", "b", "1"),
		"2/2; resurrected a@12 of 1 by 2: 1>0",
	},
	{
		"another manager's field is taken on purpose",
		start().did(1, 11, "a", "1").did(2, 12, "a", "2").is(11, "a", "1").is(12, "a", "2"),
		"2/2; stolen a@12 of 1 by 2: 1>2",
	},
	{"a writer supersedes itself", start().did(1, 11, "a", "1").did(1, 12, "a", "2").as("x").is(11, "a", "1").is(12, "a", "2"), "2/2"},
	{
		"no operation at all", start("a", "1").is(11, "a", "2", "b", "1"),
		"0/0; phantom a@11 of -1 by -1: 1>2; phantom b@11 of -1 by -1: >1",
	},
	{
		"a known write brings a value that nobody wanted",
		start().did(1, 11, "a", "1").is(11, "a", "1", "b", "9"), "1/1; phantom b@11 of -1 by 1: >9",
	},
	{"nothing was sent", start().did(1, 99, "a", "1").skipped(), "0/0"},
	{"a version in which no tracked field changed", start("a", "1").is(11, "a", "1"), "0/0"},
}

var ambiguous = []example{
	{"no answer, but it landed", start().tried(1, history.Unknown, "a", "1").is(11, "a", "1"), "0/0"},
	{"no answer, and it did not land", start().tried(1, history.Unknown, "a", "1"), "0/0"},
	{"an error, but it landed", start().tried(1, history.Failed, "a", "1").is(11, "a", "1"), "0/0"},
	{
		"what landed without an answer is lost like any other",
		start().tried(1, history.Unknown, "a", "1").did(2, 12, "b", "1").is(11, "a", "1").is(12, "b", "1"),
		"1/1; lost a@12 of 1 by 2: 1>",
	},
	{
		"what landed without an answer drops what another one wrote",
		start().did(1, 11, "a", "1").tried(2, history.Unknown, "b", "1").is(11, "a", "1").is(12, "b", "1"),
		"1/1; lost a@12 of 1 by 2: 1>",
	},
	{
		"a write without an answer explains one change only",
		start().tried(1, history.Unknown, "a", "1").did(2, 12, "a", "2").as("1").did(3, 13, "b", "1").
			is(11, "a", "1").is(12, "a", "2").is(13, "a", "1", "b", "1"),
		"2/2; resurrected a@13 of 2 by 3: 2>1",
	},
	{
		"a write cannot have landed before it began",
		start().did(1, 12, "b", "1").at(1, 2).tried(2, history.Unknown, "a", "1").at(3, 4).is(11, "a", "1").is(12, "a", "1", "b", "1"),
		"1/1; phantom a@11 of -1 by -1: >1",
	},
	{
		"the workload puts a field back, again and again",
		start("a", "x").did(1, 11, "a", "").at(1, 2).tried(-1, history.Noted, "a", "x").as("").at(3, 3).
			did(1, 13, "a", "").at(4, 5).tried(-1, history.Noted, "a", "x").as("").at(6, 6).
			is(11).is(12, "a", "x").is(13).is(14, "a", "x"),
		"2/2",
	},
	{
		"and once more than it said",
		start("a", "x").did(1, 11, "a", "").at(1, 2).tried(-1, history.Noted, "a", "x").as("").at(3, 3).did(1, 13, "a", "").at(4, 5).
			is(11).is(12, "a", "x").is(13).is(14, "a", "x"),
		"2/2; phantom a@14 of 1 by -1: >x",
	},
	{
		"a write that changes nothing is answered with the revision of the workload's own",
		start().tried(-1, history.Noted, "b", "1").did(1, 12, "a", "1").did(1, 12, "a", "1").did(2, 11, "c", "").
			is(11, "b", "1").is(12, "a", "1", "b", "1"), "3/3",
	},
	{
		"a write that was given up takes no blame from the one that was acknowledged",
		start("a", "1").tried(2, history.GaveUp, "a", "").did(1, 11, "b", "1").is(11, "b", "1"), "1/1; lost a@11 of -1 by 1: 1>",
	},
	{
		"nor when it explains what happens later",
		start("a", "1").tried(2, history.GaveUp, "a", "").tried(2, history.GaveUp, "a", "").did(1, 11, "b", "1").did(3, 12, "a", "2").
			is(11, "b", "1").is(12, "a", "2", "b", "1").is(13, "b", "1"),
		"2/2; lost a@11 of -1 by 1: 1>; stolen a@13 of 3 by 2: 2>",
	},
	{
		"a write that finds the value of the workload's own",
		start().tried(-1, history.Noted, "b", "1").at(1, 1).did(3, 11, "d", "").at(2, 3).did(2, 11, "b", "1").at(5, 6).is(11, "b", "1"),
		"2/2",
	},
	{
		"nor does one that began later and found the field gone",
		start("a", "1").did(1, 11, "b", "1").at(1, 2).did(2, 11, "a", "").at(3, 4).is(11, "b", "1"),
		"2/2; lost a@11 of -1 by 1: 1>",
	},
	{
		"a write that landed explains nothing later",
		start().did(1, 11, "a", "1").did(2, 12, "a", "2").as("1").is(11, "a", "1").is(12, "a", "2").is(13, "a", "1"),
		"2/2; phantom a@13 of 2 by -1: 2>1",
	},
	{
		"nor does one that stood at the start",
		start("a", "1").tried(-1, history.Noted, "a", "1").did(1, 11, "a", "2").as("-1").is(11, "a", "2").is(12, "a", "1"),
		"1/1; phantom a@12 of 1 by -1: 2>1",
	},
	{
		"a write that changes nothing between the two requests of an intent",
		start("b", "1").did(1, 12, "a", "1", "c", "1").did(2, 11, "b", "1").is(11, "a", "1", "b", "1").is(12, "a", "1", "b", "1", "c", "1"),
		"2/2",
	},
	{
		"an intent of two requests is acknowledged at the second",
		start().did(1, 12, "a", "1", "b", "1").is(11, "a", "1").is(12, "a", "1", "b", "1"), "1/1",
	},
}

var deleting = []example{
	{"the workload deletes", start("a", "1").tried(-1, history.Noted).gone(11), "0/0"},
	{"the workload says which fields go", start("a", "1").tried(-1, history.Noted, "a", "").gone(11), "0/0"},
	{"nobody deletes", start("a", "1", "b", "1").gone(11), "0/0; phantom a@11 of -1 by -1: 1>; phantom b@11 of -1 by -1: 1>"},
	{"there was nothing in it", start().gone(11), "0/0"},
	{"a DELETE is answered without a resourceVersion", start("a", "1").add(1, history.Landed, "", []string{"a", ""}).gone(11), "1/1"},
	{
		"the last finalizer is answered with the revision before",
		start("finalizer", "x").did(1, 10, "finalizer", "").gone(11), "1/1",
	},
	{
		"created again, everything starts anew",
		start("a", "1").tried(-1, history.Noted).did(1, 12, "a", "2").did(2, 13, "b", "1").as("1").
			gone(11).is(12, "a", "2").is(13, "a", "2", "b", "1"), "2/2",
	},
	{
		"what was before a deletion is not resurrected but lost",
		start("a", "1").tried(-1, history.Noted).did(1, 12, "a", "2").did(2, 13, "b", "1").
			gone(11).is(12, "a", "2").is(13, "a", "1", "b", "1"), "2/2; lost a@13 of 1 by 2: 2>1",
	},
}

var counting = []example{
	{"two steps", start("n", "5").counted(1, 11).counted(2, 12).is(11, "n", "6").is(12, "n", "7"), "2/2"},
	{"the first step", start().counted(1, 11).is(11, "n", "1"), "1/1"},
	{"the object is created by it", new(story).counted(1, 11).is(11, "n", "1"), "1/1"},
	{
		"two increments are answered with the same revision",
		start("n", "5").counted(1, 11).counted(2, 11).is(11, "n", "6"), "2/2; lost-increment n@11 of 2 by 1: 5>6",
	},
	{
		"an increment is answered with what stood at the start",
		start("n", "0").counted(1, 10).counted(2, 11).is(11, "n", "1"), "2/2; lost-increment n@10 of 1 by 1: >0",
	},
	{
		"an increment has no step", start("n", "5").counted(1, 11).is(11, "n", "5", "x", "1"),
		"1/1; phantom x@11 of -1 by 1: >1; lost-increment n@11 of 1 by 1: 5>5",
	},
	{
		"an increment undoes another one's, and its own is lost as well",
		start("n", "5").counted(1, 11).counted(2, 12).counted(3, 13).is(11, "n", "6").is(12, "n", "7").is(13, "n", "6"),
		"3/3; lost-increment n@13 of 3 by 3: 7>6",
	},
	{
		"another write takes the counter back",
		start("n", "5").counted(1, 11).did(2, 12, "a", "1").is(11, "n", "6").is(12, "n", "5", "a", "1"),
		"2/2; resurrected n@12 of 1 by 2: 6>5",
	},
	{
		"a step without an answer",
		start("n", "5").tried(1, history.Unknown).increments().counted(2, 12).is(11, "n", "6").is(12, "n", "7"), "1/1",
	},
	{
		"an increment that began when the step was there",
		start("n", "5").tried(1, history.Unknown).increments().at(1, 9).did(3, 11, "d", "").at(2, 3).counted(2, 11).at(5, 6).is(11, "n", "6"),
		"2/2; lost-increment n@11 of 2 by 1: 5>6",
	},
	{"a step of nobody", start("n", "5").is(11, "n", "6"), "0/0; phantom n@11 of -1 by -1: 5>6"},
	{"a step too far", start("n", "5").counted(1, 11).is(11, "n", "7"), "1/1; phantom n@11 of -1 by 1: 5>7"},
	{
		"not a number", start("n", "x").counted(1, 11).is(11, "n", "y"), "1/1; lost-increment n@11 of 1 by 1: x>y",
	},
	{
		"different managers count on", start("n", "5").counted(1, 11).counted(2, 12).as("z").is(11, "n", "6").is(12, "n", "7"), "2/2",
	},
}
