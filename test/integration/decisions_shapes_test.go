package integration

// shape is one form in which two managers may disagree about a field. Objects are
// written as YAML without apiVersion, kind and name.
type shape struct {
	reason      string
	kind        string
	subresource string // that theirs and ours are written through
	theirs      string // what the other owner sets
	ours        string // our intent: the field, and something that nobody disputes
	path        string // the field in dispute
	serverPath  string // as the server names it; "" is path
	want, have  any    // our value, theirs

	// The leaves that we own when all of the intent landed, without the field in
	// dispute, and those that we own when the field was left out.
	whole, rest []string
}

// bases are valid objects of each kind; a manager called base creates them.
var bases = map[string]string{
	"ConfigMap": `{}`,
	"Service":   `spec: {ports: [{port: 80}]}`,
	"Shape":     `{spec: {size: 1}}`,
	"Deployment": `
spec:
  replicas: 1
  selector: {matchLabels: {app: x}}
  template:
    metadata: {labels: {app: x}}
    spec: {containers: [{name: web, image: v0, ports: [{containerPort: 80, protocol: TCP}]}]}`,
}

const (
	ourLabel = ".metadata.labels.ours"
	web      = `.spec.template.spec.containers[name="web"]`
)

var builtinShapes = map[string]shape{
	"scalar": {
		reason: "a field of its own",
		kind:   "Deployment",
		theirs: `{spec: {replicas: 3}}`,
		ours:   `{metadata: {labels: {ours: x}}, spec: {replicas: 2}}`,
		path:   ".spec.replicas", want: int64(2), have: int64(3),
		whole: []string{ourLabel}, rest: []string{ourLabel},
	},
	"annotation": {
		reason: "the server leaves a key with dots and slashes unquoted",
		kind:   "Deployment",
		theirs: `{metadata: {annotations: {example.com/a.b: theirs}}}`,
		ours:   `{metadata: {annotations: {example.com/a.b: ours, b: mine}}}`,
		path:   `.metadata.annotations["example.com/a.b"]`, serverPath: ".metadata.annotations.example.com/a.b",
		want: "ours", have: "theirs",
		whole: []string{".metadata.annotations.b"}, rest: []string{".metadata.annotations.b"},
	},
	"last annotation": {
		reason: "the parent goes with its last field: an empty map is a claim of the map",
		kind:   "ConfigMap",
		theirs: `{metadata: {annotations: {a: theirs}}}`,
		ours:   `{metadata: {annotations: {a: ours}}, data: {k: v}}`,
		path:   ".metadata.annotations.a", want: "ours", have: "theirs",
		whole: []string{".data.k"}, rest: []string{".data.k"},
	},
	"file name": {
		reason: "a key with dots in a built-in map",
		kind:   "ConfigMap",
		theirs: `{data: {nginx.conf: theirs}}`,
		ours:   `{data: {nginx.conf: ours, other.conf: mine}}`,
		path:   `.data["nginx.conf"]`, serverPath: ".data.nginx.conf", want: "ours", have: "theirs",
		whole: []string{`.data["other.conf"]`}, rest: []string{`.data["other.conf"]`},
	},
	"field of an item by one key": {
		reason: "the item stays for its other field",
		kind:   "Deployment",
		theirs: `{spec: {template: {spec: {containers: [{name: web, image: theirs}]}}}}`,
		ours:   `{spec: {template: {spec: {containers: [{name: web, image: ours, tty: true}]}}}}`,
		path:   web + ".image", want: "ours", have: "theirs",
		whole: []string{web + ".name", web + ".tty"}, rest: []string{web + ".name", web + ".tty"},
	},
	"only field of an item": {
		reason: "an item without it would be nothing but its key: it goes altogether",
		kind:   "Deployment",
		theirs: `{spec: {template: {spec: {containers: [{name: web, image: theirs}]}}}}`,
		ours:   `{metadata: {labels: {ours: x}}, spec: {template: {spec: {containers: [{name: web, image: ours}]}}}}`,
		path:   web + ".image", want: "ours", have: "theirs",
		whole: []string{ourLabel, web + ".name"}, rest: []string{ourLabel},
	},
	"field of an item by two keys": {
		reason: "both keys are given",
		kind:   "Deployment",
		theirs: `{spec: {template: {spec: {containers: [{name: web, ports: [{containerPort: 80, protocol: TCP, name: theirs}]}]}}}}`,
		ours:   `{spec: {template: {spec: {containers: [{name: web, ports: [{containerPort: 80, protocol: TCP, name: ours, hostIP: 10.0.0.1}]}]}}}}`,
		path:   web + `.ports[containerPort=80,protocol="TCP"].name`, want: "ours", have: "theirs",
		whole: port80("containerPort", "hostIP", "protocol"), rest: port80("containerPort", "hostIP", "protocol"),
	},
	"defaulted key": {
		reason: "the intent leaves the protocol to its default; the server names it",
		kind:   "Deployment",
		theirs: `{spec: {template: {spec: {containers: [{name: web, ports: [{containerPort: 80, name: theirs}]}]}}}}`,
		ours:   `{spec: {template: {spec: {containers: [{name: web, ports: [{containerPort: 80, name: ours, hostIP: 10.0.0.1}]}]}}}}`,
		path:   web + `.ports[containerPort=80,protocol="TCP"].name`, want: "ours", have: "theirs",
		whole: port80("containerPort", "hostIP"), rest: port80("containerPort", "hostIP"),
	},
	"only field of an item with a defaulted key": {
		reason: "the port goes, the container stays for its other port",
		kind:   "Deployment",
		theirs: `{spec: {template: {spec: {containers: [{name: web, ports: [{containerPort: 80, name: theirs}]}]}}}}`,
		ours:   `{spec: {template: {spec: {containers: [{name: web, ports: [{containerPort: 80, name: ours}, {containerPort: 90}]}]}}}}`,
		path:   web + `.ports[containerPort=80,protocol="TCP"].name`, want: "ours", have: "theirs",
		whole: append(port80("containerPort"), web+`.ports[containerPort=90,protocol="TCP"].containerPort`),
		rest:  []string{web + ".name", web + `.ports[containerPort=90,protocol="TCP"].containerPort`},
	},
	"list in a list": {
		reason: "an environment variable of a container",
		kind:   "Deployment",
		theirs: `{spec: {template: {spec: {containers: [{name: web, env: [{name: A, value: theirs}]}]}}}}`,
		ours:   `{spec: {template: {spec: {containers: [{name: web, env: [{name: A, value: ours}, {name: B, value: mine}]}]}}}}`,
		path:   web + `.env[name="A"].value`, want: "ours", have: "theirs",
		whole: []string{web + `.env[name="A"].name`, web + `.env[name="B"].name`, web + `.env[name="B"].value`, web + ".name"},
		rest:  []string{web + `.env[name="B"].name`, web + `.env[name="B"].value`, web + ".name"},
	},
	"map in an item": {
		reason: "a key with a slash below a list",
		kind:   "Deployment",
		theirs: `{spec: {template: {spec: {containers: [{name: web, resources: {limits: {example.com/gpu: "1"}}}]}}}}`,
		ours:   `{spec: {template: {spec: {containers: [{name: web, resources: {limits: {example.com/gpu: "2", cpu: "1"}}}]}}}}`,
		path:   web + `.resources.limits["example.com/gpu"]`, serverPath: web + ".resources.limits.example.com/gpu",
		want: "2", have: "1",
		whole: []string{web + ".name", web + ".resources.limits.cpu"}, rest: []string{web + ".name", web + ".resources.limits.cpu"},
	},
	"atomic list": {
		reason: "is one field, whatever its items",
		kind:   "Deployment",
		theirs: `{spec: {template: {spec: {containers: [{name: web, args: [a, b]}]}}}}`,
		ours:   `{spec: {template: {spec: {containers: [{name: web, args: [b, c], command: [x]}]}}}}`,
		path:   web + ".args", want: []any{"b", "c"}, have: []any{"a", "b"},
		whole: []string{web + ".command", web + ".name"}, rest: []string{web + ".command", web + ".name"},
	},
	"atomic map": {
		reason: "is one field, whatever its keys",
		kind:   "Service",
		theirs: `{spec: {selector: {app: theirs}}}`,
		ours:   `{spec: {selector: {tier: ours}, sessionAffinity: None}}`,
		path:   ".spec.selector", want: map[string]any{"tier": "ours"}, have: map[string]any{"app": "theirs"},
		whole: []string{".spec.sessionAffinity"}, rest: []string{".spec.sessionAffinity"},
	},
	"built-in status": {
		reason:      "the conflict is one of owners through the status",
		kind:        "Deployment",
		subresource: "status",
		theirs:      `{status: {conditions: [{type: Available, status: "True", message: theirs}]}}`,
		ours:        `{status: {conditions: [{type: Available, status: "True", message: ours}]}}`,
		path:        `.status.conditions[type="Available"].message`, want: "ours", have: "theirs",
		whole: []string{`.status.conditions[type="Available"].status`, `.status.conditions[type="Available"].type`},
		rest:  []string{`.status.conditions[type="Available"].status`, `.status.conditions[type="Available"].type`},
	},
}

func port80(fields ...string) []string {
	leaves := []string{web + ".name"}
	for _, field := range fields {
		leaves = append(leaves, web+`.ports[containerPort=80,protocol="TCP"].`+field)
	}
	return leaves
}
