package predict_test

import "strings"

// listPredictions are about lists: how their items are named, and what becomes of empty ones.
var listPredictions = map[string]predicted{
	"an empty list for an atomic one": {reason: "the live items tell that it is one field", live: `{spec: {args: [x]}}`,
		owners: `other/Update {"f:spec":{"f:args":{}}}`, intent: `{spec: {args: []}}`, want: `
conflicts:
  .spec.args to [], owned by other/Update with ["x"]
`},
	"an empty list for a set": {reason: "its live items tell that they are merged", live: `{spec: {tags: [x]}}`,
		owners: `us/Apply {"f:spec":{"f:tags":{"v:\"x\"":{}}}}`, intent: `{spec: {tags: []}}`, want: `
dropped:
  .spec.tags[="x"] goes with its value "x"
`},
	"an empty list of a type that another item shows to be atomic": {reason: "it keeps its parent",
		live: `{spec: {parts: [{name: a, m: {args: [], x: 1, z: 2}}, {name: b, m: {args: [z]}}]}}`,
		owners: `us/Apply {"f:spec":{"f:parts":{"k:{\"name\":\"a\"}":{".":{},"f:name":{},"f:m":{"f:x":{}}}}}}
			other/Update {"f:spec":{"f:parts":{"k:{\"name\":\"b\"}":{".":{},"f:name":{},"f:m":{"f:args":{}}}}}}`,
		intent: `{spec: {parts: [{name: a, m: {}}]}}`, want: `
dropped:
  .spec.parts[name="a"].m.x goes with its value 1
`},
	"an empty set of a type that another item shows": {reason: "unlike that one, it goes with its parent",
		live:   `{spec: {parts: [{name: a, m: {tags: [], x: 1, z: 2}}, {name: b, m: {tags: [q]}}]}}`,
		owners: `us/Apply {"f:spec":{"f:parts":{"k:{\"name\":\"a\"}":{".":{},"f:name":{},"f:m":{"f:x":{}}},"k:{\"name\":\"b\"}":{".":{},"f:name":{},"f:m":{"f:tags":{"v:\"q\"":{}}}}}}}`,
		intent: `{spec: {parts: [{name: a, m: {}}, {name: b, m: {}}]}}`, want: `
changes:
  .spec.parts[name="a"].m.tags: removed []
  .spec.parts[name="a"].m.z: removed 2
dropped:
  .spec.parts[name="a"].m.x goes with its value 1
  .spec.parts[name="b"].m.tags[="q"] goes with its value "q"
`},
	"an empty list of a type that other items have": {reason: "nobody owns those, so they may be merged as well",
		live:   `{spec: {parts: [{name: a, m: {args: [], x: 1, z: 2}}, {name: b, m: {args: [{k: v}]}}]}}`,
		owners: `us/Apply {"f:spec":{"f:parts":{"k:{\"name\":\"a\"}":{".":{},"f:name":{},"f:m":{"f:x":{}}}}}}`,
		intent: `{spec: {parts: [{name: a, m: {}}, {name: c, m: {args: [{k: v}]}}]}}`, want: `
changes:
  .spec.parts[name="c"].m.args: added [{"k":"v"}]
  .spec.parts[name="c"].name: added "c"
dropped:
  .spec.parts[name="a"].m.x goes with its value 1
unsure:
  .spec.parts[name="a"].m.args: it stays or goes with its parent: managed fields do not tell whether an empty list there is merged or replaced
  .spec.parts[name="a"].m.z: it stays or goes with its parent: managed fields do not tell whether an empty list there is merged or replaced
`},
	"a list that stays beside one that goes": {reason: "as both have items, it does not matter whether these are merged",
		live:   `{spec: {parts: [{name: a, args: [x]}, {name: b, args: [z]}]}}`,
		owners: `us/Apply {"f:spec":{"f:parts":{"k:{\"name\":\"a\"}":{".":{},"f:name":{}},"k:{\"name\":\"b\"}":{".":{},"f:name":{}}}}}`,
		intent: `{spec: {parts: [{name: a, args: [x]}]}}`, want: `
changes:
  .spec.parts[name="b"].args: removed ["z"]
dropped:
  .spec.parts[name="b"].name goes with its value "b"
`},
	"a list that becomes null beside what is dropped": {reason: "null is no list that may be merged",
		live: `{spec: {list: [x], paused: true, replicas: 3}}`, owners: `us/Apply {"f:spec":{"f:paused":{}}}`,
		intent: `{spec: {list: null}}`, want: `
changes:
  .spec.list: ["x"] -> null
dropped:
  .spec.paused goes with its value true
`},
	"a list that was a map": {reason: "the owner of a field in it owns the list", live: `{spec: {list: [x]}}`,
		owners: `other/Update {"f:spec":{"f:list":{"f:a":{}}}}`, intent: `{spec: {list: [x]}}`, want: `
shared:
  .spec.list with other/Update
`},
	"unknown lists without items": {reason: "are replaced and merged to the same, unlike other values",
		live: `{spec: {empty: [], text: x, none: null}}`, owners: keeper,
		intent: `{spec: {empty: [a], text: [a], none: [a]}}`, want: `
changes:
  .spec.empty: [] -> ["a"]
  .spec.none: null -> ["a"]
unsure:
  .spec.text: nobody owns items of this list, so managed fields do not tell whether it is merged or replaced
`},
	"an unknown list in a named item": {reason: "it is named by its item", live: `{spec: {parts: [{name: a, args: [x]}]}}`,
		owners: `other/Update {"f:spec":{"f:parts":{"k:{\"name\":\"a\"}":{".":{},"f:name":{}}}}}`,
		intent: `{spec: {parts: [{name: a, args: [z]}]}}`, want: `
shared:
  .spec.parts[name="a"].name with other/Update
unsure:
  .spec.parts[name="a"].args: nobody owns items of this list, so managed fields do not tell whether it is merged or replaced
`},
	"a new list whose items have no names": {reason: "finalizers are texts", live: `{spec: {}}`, owners: keeper,
		intent: `{metadata: {finalizers: [{a: b}]}}`, want: `
unsure:
  .metadata.finalizers: items are no scalars or occur twice
`},
	"a live list whose items have no names": {reason: "also if the intent does not have it", live: `{spec: {parts: [{x: 1}]}}`,
		owners: `us/Apply {"f:spec":{"f:parts":{"k:{\"name\":\"a\"}":{".":{},"f:name":{}}}}}`, intent: `{}`, want: `
unsure:
  .spec.parts: items leave out or repeat what names them (name), and managed fields do not tell the server's defaults
`},
	"two defaults of a key": {reason: "more than one item may show them; what the intent gives goes first", kind: "example.com/v1 Thing",
		live:   `{spec: {ports: [{port: 80, protocol: SCTP, ip: any, name: x}, {port: 81, protocol: SCTP, ip: any}]}}`,
		owners: `other/Apply {"f:spec":{"f:ports":{"k:{\"ip\":\"any\",\"port\":80,\"protocol\":\"SCTP\"}":{".":{},"f:port":{},"f:name":{}},"k:{\"ip\":\"any\",\"port\":81,\"protocol\":\"SCTP\"}":{".":{},"f:port":{}}}}}`,
		intent: `{spec: {ports: [{port: 80, name: z}, {port: 81, protocol: UDP, args: [x]}]}}`, want: `
conflicts:
  .spec.ports[ip="any",port=80,protocol="SCTP"].name to "z", owned by other/Apply with "x"
shared:
  .spec.ports[ip="any",port=80,protocol="SCTP"].port with other/Apply
changes:
  .spec.ports[ip="any",port=81,protocol="UDP"].args: added ["x"]
  .spec.ports[ip="any",port=81,protocol="UDP"].ip: added "any"
  .spec.ports[ip="any",port=81,protocol="UDP"].port: added 81
  .spec.ports[ip="any",port=81,protocol="UDP"].protocol: added "UDP"
`},
	"a key beside its default": {reason: "ports of containers are of TCP, unless the intent says otherwise",
		live:   `{spec: {parts: [{name: a, ports: [{containerPort: 80, protocol: UDP, args: [x]}]}]}}`,
		owners: `other/Update {"f:spec":{"f:parts":{"k:{\"name\":\"a\"}":{".":{},"f:name":{},"f:ports":{"k:{\"containerPort\":80,\"protocol\":\"UDP\"}":{".":{},"f:containerPort":{},"f:protocol":{}}}}}}}`,
		intent: `{spec: {parts: [{name: a, ports: [{containerPort: 80, protocol: UDP, args: [z]}, {containerPort: 90}]}]}}`, want: `
shared:
  .spec.parts[name="a"].name with other/Update
  .spec.parts[name="a"].ports[containerPort=80,protocol="UDP"].containerPort with other/Update
  .spec.parts[name="a"].ports[containerPort=80,protocol="UDP"].protocol with other/Update
changes:
  .spec.parts[name="a"].ports[containerPort=90,protocol="TCP"].containerPort: added 90
  .spec.parts[name="a"].ports[containerPort=90,protocol="TCP"].protocol: added "TCP"
unsure:
  .spec.parts[name="a"].ports[containerPort=80,protocol="UDP"].args: nobody owns items of this list, so managed fields do not tell whether it is merged or replaced
`},
	"what is left empty in an item": {reason: "like elsewhere", live: `{spec: {parts: [{name: a, m: {x: 1}}]}}`,
		owners: `us/Apply {"f:spec":{"f:parts":{"k:{\"name\":\"a\"}":{".":{},"f:name":{},"f:m":{"f:x":{}}}}}}`,
		intent: `{spec: {parts: [{name: a, m: {}}]}}`, want: `
dropped:
  .spec.parts[name="a"].m.x goes with its value 1
`},
	"nulls in place of lists and maps": {reason: "are what the intent says; a map that loses all its fields is empty instead",
		live: `{spec: {args: [x], m: {a: b}, tags: [x], empty: [], kept: {a: b}}}`,
		owners: `other/Update {"f:spec":{"f:args":{},"f:kept":{".":{}}}}
			us/Apply {"f:spec":{"f:m":{"f:a":{}},"f:kept":{"f:a":{}}}}`,
		intent: `{spec: {args: null, m: null, tags: null, empty: null, new: null}}`, want: `
conflicts:
  .spec.args to null, owned by other/Update with ["x"]
changes:
  .spec.empty: [] -> null
  .spec.m: {"a":"b"} -> null
  .spec.new: added null
  .spec.tags: ["x"] -> null
dropped:
  .spec.kept.a goes with its value "b"
  .spec.m.a goes with its value "b"
`},
	"a live list with a name twice": {reason: "it is compared as a whole, also behind what is shown of it",
		live:   `{spec: {list: [{name: a, text: ` + strings.Repeat("long", 30) + `}, {name: a}, {name: b, m: {x: 1, z: 2}}]}}`,
		owners: `other/Update {"f:spec":{"f:list":{"k:{\"name\":\"b\"}":{".":{},"f:name":{}}}}}`,
		intent: `{spec: {list: [{name: b, m: {x: 2}}]}}`, want: `
unsure:
  .spec.list: managed fields do not tell whether this map is one field or each of its keys is
`},
	"a default that fills what is dropped": {reason: "a value that changes is told beside it", live: `{spec: {ports: [{port: 80}, {port: 90, protocol: TCP}]}}`,
		owners: `us/Apply {"f:spec":{"f:ports":{}}}
			other/Update {"f:spec":{"f:ports":{".":{},"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:port":{},"f:protocol":{}}}}}`,
		intent: `{metadata: {labels: {a: b}}}`, want: `
changes:
  .metadata.labels.a: added "b"
  .spec.ports: [{"port":80},{"port":90,"protocol":"TCP"}] -> [{"port":80,"protocol":"TCP"},{"port":90,"protocol":"TCP"}]
dropped:
  .spec.ports stays, owned by other/Update
`},
	"an empty list in an item of a list that is doubted": {reason: "it is part of that doubt", live: `{spec: {parts: [{list: [{k: v}]}]}}`,
		owners: `other/Update {"f:spec":{"f:parts":{"k:{\"name\":\"a\"}":{".":{},"f:name":{}}}}}`,
		intent: `{spec: {parts: [{name: a, list: []}]}}`, want: `
unsure:
  .spec.parts: items leave out or repeat what names them (name), and managed fields do not tell the server's defaults
`},
}
