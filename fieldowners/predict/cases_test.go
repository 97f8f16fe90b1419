package predict_test

var predictions = map[string]predicted{
	"new": {reason: "nobody to conflict with", intent: `{spec: {replicas: 3}}`, want: `
the object is created
changes:
  .spec.replicas: added 3
`},
	"new, a name alone": {reason: "nothing but the object", intent: `{}`, want: "the object is created\n"},
	"no-op": {reason: "the manager has it all", live: `{spec: {replicas: 3, selector: {a: b}}}`,
		owners: `us/Apply {"f:spec":{"f:replicas":{},"f:selector":{}}}`,
		intent: `{spec: {replicas: 3.0, selector: {a: b}}}`, want: "nothing changes\n"},
	"conflicts": {reason: "with each owner, our own updates too; equal values are shared",
		live: `{metadata: {labels: {a: x}}, spec: {replicas: 3, paused: true}}`,
		owners: `hpa/Update[scale] {"f:spec":{"f:replicas":{}}}
			us/Update {"f:spec":{"f:replicas":{},"f:paused":{}}}
			other/Apply {"f:metadata":{"f:labels":{"f:a":{}}}}`,
		intent: `{metadata: {labels: {a: x, b: z}}, spec: {replicas: 5, paused: true}}`, want: `
conflicts:
  .spec.replicas to 5, owned by hpa/Update[scale] with 3
  .spec.replicas to 5, owned by us/Update with 3
shared:
  .metadata.labels.a with other/Apply
  .spec.paused with us/Update
changes:
  .metadata.labels.b: added "z"
`},
	"dropped": {reason: "what others own stays; an item goes with fields of an updater who does not own it itself",
		live: `{spec: {replicas: 3, paused: true, list: [{name: a, x: 1, z: 2}, {name: b, x: 1}]}}`,
		owners: `us/Apply {"f:spec":{"f:replicas":{},"f:paused":{},"f:list":{"k:{\"name\":\"a\"}":{".":{},"f:name":{},"f:x":{}},"k:{\"name\":\"b\"}":{".":{},"f:name":{},"f:x":{}}}}}
			two/Apply {"f:spec":{"f:replicas":{},"f:list":{"k:{\"name\":\"b\"}":{".":{},"f:name":{}}}}}
			three/Update {"f:spec":{"f:list":{"k:{\"name\":\"a\"}":{"f:z":{}}}}}`,
		intent: `{metadata: {labels: {a: b}}}`, want: `
changes:
  .metadata.labels.a: added "b"
  .spec.list[name="a"].z: removed 2
dropped:
  .spec.list[name="a"].name goes with its value "a"
  .spec.list[name="a"].x goes with its value 1
  .spec.list[name="b"].name stays, owned by two/Apply
  .spec.list[name="b"].x goes with its value 1
  .spec.paused goes with its value true
  .spec.replicas stays, owned by two/Apply
`},
	"a set": {reason: "its members have no other value", live: `{spec: {tags: [a, b]}}`,
		owners: `other/Update {"f:spec":{"f:tags":{".":{},"v:\"a\"":{},"v:\"b\"":{}}}}`,
		intent: `{spec: {tags: [b, c]}}`, want: `
shared:
  .spec.tags[="b"] with other/Update
changes:
  .spec.tags[="c"]: added "c"
`},
	"an atomic list": {reason: "a list that somebody owns, and of whose items nobody does", live: `{spec: {args: [a]}}`,
		owners: `other/Update {"f:spec":{"f:args":{}}}`, intent: `{spec: {args: [b]}}`, want: `
conflicts:
  .spec.args to ["b"], owned by other/Update with ["a"]
`},
	"an unknown list": {reason: "nobody owns it or its items: it may be merged", live: `{spec: {args: [a], gone: [x]}}`,
		owners: keeper, intent: `{spec: {args: [b], new: [c], gone: [x]}}`, want: `
changes:
  .spec.new: added ["c"]
unsure:
  .spec.args: nobody owns items of this list, so managed fields do not tell whether it is merged or replaced
`},
	"an empty list": {reason: "a conflict if it is atomic, none if it is not", live: `{spec: {args: []}}`,
		owners: `other/Update {"f:spec":{"f:args":{}}}`, intent: `{spec: {args: [b]}}`, want: `
unsure:
  .spec.args: nobody owns items of this list, so managed fields do not tell whether it is merged or replaced; as a whole it is owned by other/Update
`},
	"an empty list beside what is dropped": {reason: "if its items are merged, their parent goes with it",
		live: `{spec: {list: [], paused: true, replicas: 3}}`, owners: `us/Apply {"f:spec":{"f:paused":{}}}`,
		intent: `{spec: {}}`, want: `
dropped:
  .spec.paused goes with its value true
unsure:
  .spec.list: it stays or goes with its parent: managed fields do not tell whether an empty list there is merged or replaced
  .spec.replicas: it stays or goes with its parent: managed fields do not tell whether an empty list there is merged or replaced
`},
	"an empty list in place of what is dropped": {reason: "the same, with items that nobody owns",
		live: `{spec: {list: [{a: b}], paused: true, replicas: 3}}`, owners: `us/Apply {"f:spec":{"f:paused":{}}}`,
		intent: `{spec: {list: []}}`, want: `
dropped:
  .spec.paused goes with its value true
unsure:
  .spec.list: nobody owns items of this list, so managed fields do not tell whether it is merged or replaced
  .spec.replicas: it stays or goes with its parent: managed fields do not tell whether an empty list there is merged or replaced
`},
	"an atomic map": {reason: "or one that was applied empty and has defaults", live: `{spec: {selector: {a: b}}}`,
		owners: `other/Apply {"f:spec":{"f:selector":{}}}`, intent: `{spec: {selector: {a: c}, paused: true}}`, want: `
changes:
  .spec.paused: added true
unsure:
  .spec.selector: managed fields do not tell whether this map is one field or each of its keys is; as a whole it is owned by other/Apply
`},
	"the built-in default of a key": {reason: "ports are of TCP", live: `{spec: {ports: [{port: 80, protocol: TCP, name: x}, {port: 80, protocol: UDP}]}}`,
		owners: `other/Update {"f:spec":{"f:ports":{".":{},"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:port":{},"f:protocol":{},"f:name":{}}}}}`,
		intent: `{spec: {ports: [{port: 80, name: z}, {port: 90}]}}`, want: `
conflicts:
  .spec.ports[port=80,protocol="TCP"].name to "z", owned by other/Update with "x"
shared:
  .spec.ports[port=80,protocol="TCP"].port with other/Update
changes:
  .spec.ports[port=90,protocol="TCP"].port: added 90
  .spec.ports[port=90,protocol="TCP"].protocol: added "TCP"
`},
	"a default of a key that an applier shows": {reason: "it lists all that it owns", kind: "example.com/v1 Thing",
		live:   `{spec: {ports: [{port: 80, protocol: SCTP, name: x}]}}`,
		owners: `other/Apply {"f:spec":{"f:ports":{"k:{\"port\":80,\"protocol\":\"SCTP\"}":{".":{},"f:port":{},"f:name":{}}}}}`,
		intent: `{spec: {ports: [{port: 80, name: z}]}}`, want: `
conflicts:
  .spec.ports[port=80,protocol="SCTP"].name to "z", owned by other/Apply with "x"
shared:
  .spec.ports[port=80,protocol="SCTP"].port with other/Apply
`},
	"a default that is not known": {reason: "of a custom resource", kind: "example.com/v1 Thing",
		live:   `{spec: {ports: [{port: 80, protocol: TCP, name: x}]}}`,
		owners: `other/Update {"f:spec":{"f:ports":{".":{},"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:port":{},"f:protocol":{},"f:name":{}}}}}`,
		intent: `{spec: {ports: [{port: 80, name: z}]}}`, want: `
unsure:
  .spec.ports: items leave out or repeat what names them (port, protocol), and managed fields do not tell the server's defaults; as a whole it is owned by other/Update
`},
	"defaults that contradict each other": {reason: "neither is believed", kind: "example.com/v1 Thing",
		live:   `{spec: {ports: [{port: 80, protocol: TCP}]}}`,
		owners: `other/Apply {"f:spec":{"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:port":{}},"k:{\"port\":81,\"protocol\":\"UDP\"}":{".":{},"f:port":{}},"k:{\"port\":82,\"protocol\":\"UDP\"}":{".":{},"f:x":{}}}}}`,
		intent: `{spec: {ports: [{port: 80}]}}`, want: `
unsure:
  .spec.ports: items leave out or repeat what names them (port, protocol), and managed fields do not tell the server's defaults
`},
	"names that contradict each other": {reason: "the type was changed", live: `{spec: {list: [{a: x, b: y}], other: [z], lists: [[{a: b}]]}}`,
		owners: `one/Update {"f:spec":{"f:list":{"k:{\"a\":\"x\"}":{".":{},"f:a":{}}}, "f:other":{"i:0":{}}, "f:lists":{"i:0":{"i:0":{}}}}}
			two/Update {"f:spec":{"f:list":{"k:{\"b\":\"y\"}":{".":{},"f:b":{}}}}}`,
		intent: `{spec: {list: [{a: x, b: y}], other: [z], lists: [[{a: b}]]}}`, want: `
unsure:
  .spec.list: managed fields disagree about how its items are named
  .spec.lists: managed fields disagree about how its items are named
  .spec.other: managed fields disagree about how its items are named
`},
	"another version": {reason: "fields may have other names there, metadata have not", live: `{metadata: {labels: {a: x}}, spec: {replicas: 3}}`,
		owners: `old/Update[@apps/v1beta1] {"f:spec":{"f:count":{}},"f:metadata":{"f:labels":{"f:a":{}}}}`,
		intent: `{metadata: {labels: {a: z}}, spec: {replicas: 5}}`, want: `
conflicts:
  .metadata.labels.a to "z", owned by old/Update with "x"
unsure:
  .spec: fields of old/Update are recorded in apps/v1beta1, where they may have other names
`},
	"two entries of ours": {reason: "the server reads one of them", live: `{spec: {replicas: 3}}`,
		owners: `us/Apply {"f:spec":{"f:replicas":{}}}
			us/Apply[@apps/v1beta1] {"f:spec":{"f:count":{}}}`,
		intent: `{spec: {replicas: 5}}`, want: `
unsure:
  the object itself: us/Apply has entries in apps/v1, apps/v1beta1: which of them the API server takes for what it applied before is not told
`},
	"a set with an item that cannot be in one": {reason: "its items have no names", live: `{spec: {tags: [{a: b}]}}`,
		owners: `other/Update {"f:spec":{"f:tags":{"v:\"x\"":{}}}}`, intent: `{spec: {tags: [x]}}`, want: `
unsure:
  .spec.tags: items are no scalars or occur twice
`},
	"a dropped key of a map": {reason: "goes with what an updater added below it, a field would not", live: `{spec: {things: {cup: {color: red, price: 2}}}}`,
		owners: `us/Apply {"f:spec":{"f:things":{"f:cup":{".":{},"f:color":{}}}}}
			other/Update {"f:spec":{"f:things":{"f:cup":{"f:price":{}}}}}
			` + keeper,
		intent: `{metadata: {labels: {a: b}}}`, want: `
changes:
  .metadata.labels.a: added "b"
unsure:
  .spec.things.cup: it is dropped, and managed fields do not tell whether what other/Update owns below it goes with it
`},
	"status of the object": {reason: "ignored by kinds with a status subresource", live: `{status: {replicas: 3}}`, owners: keeper,
		intent: `{status: {replicas: 5}}`, want: `
unsure:
  .status: kinds with a status subresource ignore it in an apply to the object itself
`},
	"status": {reason: "an owner through a subresource is another one", sub: "status", live: `{status: {replicas: 3}}`,
		owners: `us/Apply {"f:spec":{"f:paused":{}}}
			us/Update[status] {"f:status":{"f:replicas":{}}}`,
		intent: `{spec: {paused: true}, status: {replicas: 5}}`, want: `
conflicts:
  .status.replicas to 5, owned by us/Update[status] with 3
unsure:
  .spec: most kinds ignore it in an apply to the status
`},
	"kubectl after a client-side apply": {reason: "takes without force what that had set", manager: "kubectl",
		live:   `{metadata: {annotations: {kubectl.kubernetes.io/last-applied-configuration: "{}"}}, spec: {replicas: 3}}`,
		owners: `kubectl-client-side-apply/Update {"f:metadata":{"f:annotations":{"f:kubectl.kubernetes.io/last-applied-configuration":{}}},"f:spec":{"f:replicas":{}}}`,
		intent: `{spec: {replicas: 5}}`, want: `
unsure:
  .metadata.annotations["kubectl.kubernetes.io/last-applied-configuration"]: the API server keeps it up to date for the manager kubectl
  .spec.replicas: owned by kubectl-client-side-apply/Update; the manager kubectl takes without force what its client-side apply had set
`},
	"a Secret": {reason: "its values are hidden", kind: "v1 Secret",
		live: `{metadata: {labels: {a: shown}}, data: {a: c2VjcmV0, gone: c2VjcmV0}}`,
		owners: `other/Update {"f:data":{".":{},"f:a":{}},"f:metadata":{"f:labels":{"f:a":{}}}}
			us/Apply {"f:data":{"f:gone":{}}}`,
		intent: `{metadata: {labels: {a: too}}, data: {a: aGlkZGVu, new: aGlkZGVu}}`, want: `
conflicts:
  .data.a to (hidden), owned by other/Update with (hidden)
  .metadata.labels.a to "too", owned by other/Update with "shown"
changes:
  .data.new: added (hidden)
dropped:
  .data.gone goes with its value (hidden)
`},
	"stringData": {reason: "the server stores it elsewhere", kind: "v1 Secret", live: `{data: {a: c2VjcmV0}}`, owners: `other/Update {"f:data":{"f:a":{}}}`,
		intent: `{stringData: {a: other}}`, want: `
unsure:
  .data: the API server moves what stringData says into data
  .stringData: the API server moves what stringData says into data
`},
	"nulls": {reason: "are values; the null of a map is merged like an empty one", live: `{metadata: {annotations: {a: b}}, spec: {replicas: 3, m: {a: b}, tags: [x]}}`,
		owners: `other/Update {"f:spec":{"f:replicas":{}}}
			us/Apply {"f:spec":{"f:m":{"f:a":{}},"f:tags":{"v:\"x\"":{}}}}`,
		intent: `{metadata: {annotations: null}, spec: {replicas: null, m: {}}}`, want: `
conflicts:
  .spec.replicas to null, owned by other/Update with 3
dropped:
  .spec.m.a goes with its value "b"
  .spec.tags[="x"] goes with its value "x"
`},
}
