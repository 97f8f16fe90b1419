package predict_test

// doubtPredictions are about maps and versions: what is doubted of them, and what beside a doubt is certain.
var doubtPredictions = map[string]predicted{
	"owner references": {reason: "one is a field, as all kinds have it", live: `{metadata: {ownerReferences: [{uid: a, kind: A, controller: true}]}}`,
		owners: `other/Update {"f:metadata":{"f:ownerReferences":{".":{},"k:{\"uid\":\"a\"}":{}}}}`,
		intent: `{metadata: {ownerReferences: [{uid: a, kind: B}]}}`, want: `
conflicts:
  .metadata.ownerReferences[uid="a"] to {"kind":"B","uid":"a"}, owned by other/Update with {"controller":true,"kind":"A","uid":"a"}
`},
	"owner references by an older server": {reason: "their fields had owners", live: `{metadata: {ownerReferences: [{uid: a, controller: true}]}}`,
		owners: `other/Update {"f:metadata":{"f:ownerReferences":{"k:{\"uid\":\"a\"}":{"f:controller":{}}}}}`,
		intent: `{metadata: {labels: {a: b}}}`, want: `
changes:
  .metadata.labels.a: added "b"
`},
	"a map with a key less": {reason: "the outermost map that may be one field is doubted, and not the map around it",
		live: `{spec: {replicas: 3, selector: {a: b, c: d}}}`, owners: `other/Update {"f:spec":{"f:replicas":{}}}`,
		intent: `{spec: {selector: {a: z}}}`, want: `
unsure:
  .spec.selector: managed fields do not tell whether this map is one field or each of its keys is
`},
	"a map with a key less in an item": {reason: "the map, not its list", live: `{spec: {parts: [{name: a, m: {a: b, c: d}}]}}`,
		owners: `other/Update {"f:spec":{"f:parts":{"k:{\"name\":\"a\"}":{".":{},"f:name":{}}}}}`,
		intent: `{spec: {parts: [{name: a, m: {a: b}}]}}`, want: `
shared:
  .spec.parts[name="a"].name with other/Update
unsure:
  .spec.parts[name="a"].m: managed fields do not tell whether this map is one field or each of its keys is
`},
	"a map applied empty": {reason: "what others have in it stays", live: `{spec: {things: {a: b}}}`,
		owners: `us/Apply {"f:spec":{"f:things":{}}}
			other/Update {"f:spec":{"f:things":{"f:a":{}}}}`,
		intent: `{spec: {things: {}}}`, want: `
nothing changes
`},
	"a dropped map that another manager has as well": {reason: "it stays with what that manager has in it", live: `{spec: {things: {a: b, c: d}}}`,
		owners: `us/Apply {"f:spec":{"f:things":{".":{},"f:a":{}}}}
			other/Update {"f:spec":{"f:things":{".":{},"f:c":{}}}}`,
		intent: `{metadata: {labels: {a: b}}}`, want: `
changes:
  .metadata.labels.a: added "b"
dropped:
  .spec.things.a goes with its value "b"
`},
	"a dropped map of our own": {reason: "nothing of others is in it", live: `{spec: {things: {cup: {color: red}}}}`,
		owners: `us/Apply {"f:spec":{"f:things":{"f:cup":{".":{},"f:color":{}}}}}
			` + keeper,
		intent: `{metadata: {labels: {a: b}}}`, want: `
changes:
  .metadata.labels.a: added "b"
dropped:
  .spec.things.cup.color goes with its value "red"
`},
	"another version, for all that is told": {reason: "a field that changes, conflicts, goes or is new to us; what stays as it is has no doubt",
		live: `{metadata: {labels: {a: x}}, changed: {x: 1}, conflict: {x: 1}, dropped: {x: 1}, gained: {x: 1}, same: {x: 1}}`,
		owners: `old/Update[@apps/v1beta1] {"f:conflict":{"f:x":{}}}
			us/Apply {"f:changed":{"f:x":{}},"f:conflict":{"f:x":{}},"f:dropped":{"f:x":{}},"f:same":{"f:x":{}}}`,
		intent: `{changed: {x: 2}, conflict: {x: 2}, gained: {x: 1}, same: {x: 1}}`, want: `
unsure:
  .changed: fields of old/Update are recorded in apps/v1beta1, where they may have other names
  .conflict: fields of old/Update are recorded in apps/v1beta1, where they may have other names
  .dropped: fields of old/Update are recorded in apps/v1beta1, where they may have other names
  .gained: fields of old/Update are recorded in apps/v1beta1, where they may have other names
`},
	"two reasons to doubt": {reason: "that of more than its sharing is told", live: `{selector: {a: b}}`,
		owners: `other/Update[@apps/v1beta1] {"f:selector":{}}`, intent: `{selector: {a: b}}`, want: `
unsure:
  .selector: fields of other/Update are recorded in apps/v1beta1, where they may have other names
`},
	"doubts of sharing and others": {reason: "in the order of fields", live: `{spec: {list: [x], labels: {a: b}, selector: {a: b}}}`,
		owners: `other/Update {"f:spec":{"f:labels":{},"f:selector":{}}}`, intent: `{spec: {list: [z], labels: {a: b}, selector: {a: b}}}`, want: `
unsure:
  .spec.labels: managed fields do not tell whether this map is one field or each of its keys is; as a whole it is owned by other/Update
  .spec.list: nobody owns items of this list, so managed fields do not tell whether it is merged or replaced
  .spec.selector: managed fields do not tell whether this map is one field or each of its keys is; as a whole it is owned by other/Update
`},
}
