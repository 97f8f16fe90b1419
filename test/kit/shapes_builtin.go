package kit

// Bases maps each kind to a valid object. The field manager base creates the object.
var Bases = map[string]string{
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

// Paths that the shapes use.
const (
	OurLabel = ".metadata.labels.ours"
	Web      = `.spec.template.spec.containers[name="web"]`
)

// BuiltinShapes are Shapes of built-in kinds, one for each sort of field.
var BuiltinShapes = map[string]Shape{
	"scalar": {
		Reason: "a field of its own",
		Kind:   "Deployment",
		Theirs: `{spec: {replicas: 3}}`,
		Ours:   `{metadata: {labels: {ours: x}}, spec: {replicas: 2}}`,
		Path:   ".spec.replicas", Want: int64(2), Have: int64(3),
		Whole: []string{OurLabel}, Rest: []string{OurLabel},
	},
	"annotation": {
		Reason: "the server leaves a key with dots and slashes unquoted",
		Kind:   "Deployment",
		Theirs: `{metadata: {annotations: {example.com/a.b: theirs}}}`,
		Ours:   `{metadata: {annotations: {example.com/a.b: ours, b: mine}}}`,
		Path:   `.metadata.annotations["example.com/a.b"]`, ServerPath: ".metadata.annotations.example.com/a.b",
		Want: "ours", Have: "theirs",
		Whole: []string{".metadata.annotations.b"}, Rest: []string{".metadata.annotations.b"},
	},
	"last annotation": {
		Reason: "the parent goes with its last field: an empty map is a claim of the map",
		Kind:   "ConfigMap",
		Theirs: `{metadata: {annotations: {a: theirs}}}`,
		Ours:   `{metadata: {annotations: {a: ours}}, data: {k: v}}`,
		Path:   ".metadata.annotations.a", Want: "ours", Have: "theirs",
		Whole: []string{".data.k"}, Rest: []string{".data.k"},
	},
	"file name": {
		Reason: "a key with dots in a built-in map",
		Kind:   "ConfigMap",
		Theirs: `{data: {nginx.conf: theirs}}`,
		Ours:   `{data: {nginx.conf: ours, other.conf: mine}}`,
		Path:   `.data["nginx.conf"]`, ServerPath: ".data.nginx.conf", Want: "ours", Have: "theirs",
		Whole: []string{`.data["other.conf"]`}, Rest: []string{`.data["other.conf"]`},
	},
	"field of an item by one key": {
		Reason: "the item stays for its other field",
		Kind:   "Deployment",
		Theirs: `{spec: {template: {spec: {containers: [{name: web, image: theirs}]}}}}`,
		Ours:   `{spec: {template: {spec: {containers: [{name: web, image: ours, tty: true}]}}}}`,
		Path:   Web + ".image", Want: "ours", Have: "theirs",
		Whole: []string{Web + ".name", Web + ".tty"}, Rest: []string{Web + ".name", Web + ".tty"},
	},
	"only field of an item": {
		Reason: "an item without it would be nothing but its key: it goes altogether",
		Kind:   "Deployment",
		Theirs: `{spec: {template: {spec: {containers: [{name: web, image: theirs}]}}}}`,
		Ours:   `{metadata: {labels: {ours: x}}, spec: {template: {spec: {containers: [{name: web, image: ours}]}}}}`,
		Path:   Web + ".image", Want: "ours", Have: "theirs",
		Whole: []string{OurLabel, Web + ".name"}, Rest: []string{OurLabel},
	},
	"field of an item by two keys": {
		Reason: "both keys are given",
		Kind:   "Deployment",
		Theirs: `{spec: {template: {spec: {containers: [{name: web, ports: [{containerPort: 80, protocol: TCP, name: theirs}]}]}}}}`,
		Ours:   `{spec: {template: {spec: {containers: [{name: web, ports: [{containerPort: 80, protocol: TCP, name: ours, hostIP: 10.0.0.1}]}]}}}}`,
		Path:   Web + `.ports[containerPort=80,protocol="TCP"].name`, Want: "ours", Have: "theirs",
		Whole: port80("containerPort", "hostIP", "protocol"), Rest: port80("containerPort", "hostIP", "protocol"),
	},
	"defaulted key": {
		Reason: "the intent leaves the protocol to its default; the server names it",
		Kind:   "Deployment",
		Theirs: `{spec: {template: {spec: {containers: [{name: web, ports: [{containerPort: 80, name: theirs}]}]}}}}`,
		Ours:   `{spec: {template: {spec: {containers: [{name: web, ports: [{containerPort: 80, name: ours, hostIP: 10.0.0.1}]}]}}}}`,
		Path:   Web + `.ports[containerPort=80,protocol="TCP"].name`, Want: "ours", Have: "theirs",
		Whole: port80("containerPort", "hostIP"), Rest: port80("containerPort", "hostIP"),
	},
	"only field of an item with a defaulted key": {
		Reason: "the port goes, the container stays for its other port",
		Kind:   "Deployment",
		Theirs: `{spec: {template: {spec: {containers: [{name: web, ports: [{containerPort: 80, name: theirs}]}]}}}}`,
		Ours:   `{spec: {template: {spec: {containers: [{name: web, ports: [{containerPort: 80, name: ours}, {containerPort: 90}]}]}}}}`,
		Path:   Web + `.ports[containerPort=80,protocol="TCP"].name`, Want: "ours", Have: "theirs",
		Whole: append(port80("containerPort"), Web+`.ports[containerPort=90,protocol="TCP"].containerPort`),
		Rest:  []string{Web + ".name", Web + `.ports[containerPort=90,protocol="TCP"].containerPort`},
	},
	"list in a list": {
		Reason: "an environment variable of a container",
		Kind:   "Deployment",
		Theirs: `{spec: {template: {spec: {containers: [{name: web, env: [{name: A, value: theirs}]}]}}}}`,
		Ours:   `{spec: {template: {spec: {containers: [{name: web, env: [{name: A, value: ours}, {name: B, value: mine}]}]}}}}`,
		Path:   Web + `.env[name="A"].value`, Want: "ours", Have: "theirs",
		Whole: []string{Web + `.env[name="A"].name`, Web + `.env[name="B"].name`, Web + `.env[name="B"].value`, Web + ".name"},
		Rest:  []string{Web + `.env[name="B"].name`, Web + `.env[name="B"].value`, Web + ".name"},
	},
	"map in an item": {
		Reason: "a key with a slash below a list",
		Kind:   "Deployment",
		Theirs: `{spec: {template: {spec: {containers: [{name: web, resources: {limits: {example.com/gpu: "1"}}}]}}}}`,
		Ours:   `{spec: {template: {spec: {containers: [{name: web, resources: {limits: {example.com/gpu: "2", cpu: "1"}}}]}}}}`,
		Path:   Web + `.resources.limits["example.com/gpu"]`, ServerPath: Web + ".resources.limits.example.com/gpu",
		Want: "2", Have: "1",
		Whole: []string{Web + ".name", Web + ".resources.limits.cpu"}, Rest: []string{Web + ".name", Web + ".resources.limits.cpu"},
	},
	"atomic list": {
		Reason: "is one field, whatever its items",
		Kind:   "Deployment",
		Theirs: `{spec: {template: {spec: {containers: [{name: web, args: [a, b]}]}}}}`,
		Ours:   `{spec: {template: {spec: {containers: [{name: web, args: [b, c], command: [x]}]}}}}`,
		Path:   Web + ".args", Want: []any{"b", "c"}, Have: []any{"a", "b"},
		Whole: []string{Web + ".command", Web + ".name"}, Rest: []string{Web + ".command", Web + ".name"},
	},
	"atomic map": {
		Reason: "is one field, whatever its keys",
		Kind:   "Service",
		Theirs: `{spec: {selector: {app: theirs}}}`,
		Ours:   `{spec: {selector: {tier: ours}, sessionAffinity: None}}`,
		Path:   ".spec.selector", Want: map[string]any{"tier": "ours"}, Have: map[string]any{"app": "theirs"},
		Whole: []string{".spec.sessionAffinity"}, Rest: []string{".spec.sessionAffinity"},
	},
	"built-in status": {
		Reason:      "the conflict is one of owners through the status",
		Kind:        "Deployment",
		Subresource: "status",
		Theirs:      `{status: {conditions: [{type: Available, status: "True", message: theirs}]}}`,
		Ours:        `{status: {conditions: [{type: Available, status: "True", message: ours}]}}`,
		Path:        `.status.conditions[type="Available"].message`, Want: "ours", Have: "theirs",
		Whole: []string{`.status.conditions[type="Available"].status`, `.status.conditions[type="Available"].type`},
		Rest:  []string{`.status.conditions[type="Available"].status`, `.status.conditions[type="Available"].type`},
	},
}

func port80(fields ...string) []string {
	leaves := []string{Web + ".name"}
	for _, field := range fields {
		leaves = append(leaves, Web+`.ports[containerPort=80,protocol="TCP"].`+field)
	}
	return leaves
}
