package platform

import (
	"fmt"
	"strings"
)

// refused are objects that must not come in. A person who made one reads, among what
// the API server answers, what is wrong. (What else the fields of a Devbox take and
// refuse is in devbox_validation_test.go.)
var refused = []struct{ reason, kind, name, spec, want string }{
	{"a name in capitals", "Devbox", "Box", `image: a`, `a lowercase RFC 1123 subdomain must consist of`},
	{"a path for a name", "Devbox", "../../secrets", `image: a`, `a lowercase RFC 1123 subdomain must consist of`},
	{"a command for a name", "Devbox", "$(reboot)", `image: a`, `a lowercase RFC 1123 subdomain must consist of`},
	{"a line break in a name", "Devbox", "box\nbox", `image: a`, `a lowercase RFC 1123 subdomain must consist of`},
	{"a name of letters that only look like ours", "Devbox", "bоx", `image: a`, `a lowercase RFC 1123 subdomain must consist of`},
	{"a name with dots", "NodeSet", "a.b", `image: a`, "a NodeSet's name becomes part of its pod names"},
	{"a name that leaves no room for the pods' numbers", "NodeSet", strings.Repeat("a", 59), `image: a`, "a NodeSet's name has at most 58 characters"},
	{"a name that leaves no room for the Service's", "SlurmController", strings.Repeat("a", 53), `image: a`, "so that the Service name NAME-controller has at most 63"},
	{"a name that leaves no room for the Namespace's", "User", strings.Repeat("a", 59), `{}`, "a User's name has at most 58 characters"},
	{"a User with dots", "User", "a.b", `{}`, "a User's name becomes part of a Namespace name"},
	{"a License of nobody", "License", "a.b", `limits: {pods: 1}`, "a License has the name of its User"},

	{"no spec", "Devbox", "x", ``, "spec: Required value"},
	{"a spec that is none", "Devbox", "x", `[]`, `spec in body must be of type object: "array"`},
	{"an image that is a number", "Devbox", "x", `image: 5`, `spec.image in body must be of type string: "integer"`},
	{"an image that is null", "SlurmController", "x", `image: null`, "spec.image: Required value"},
	{"an image with a command", "NodeSet", "x", `image: "a;reboot"`, "an image reference is [HOST[:PORT]/]PATH[:TAG][@DIGEST]"},
	{"an image in capitals", "SlurmController", "x", `image: Nginx`, "its path in lower case"},
	{"an image with a path upwards", "Devbox", "x", `image: ../../a`, "an image reference is [HOST[:PORT]/]PATH[:TAG][@DIGEST]"},
	{"an image by URL", "Devbox", "x", `image: https://registry.example.com/a`, "an image reference is [HOST[:PORT]/]PATH[:TAG][@DIGEST]"},
	{"an image with half a digest", "Devbox", "x", `image: "a@sha256:abc"`, "an image reference is [HOST[:PORT]/]PATH[:TAG][@DIGEST]"},
	{"a control character in an image", "NodeSet", "x", `image: "a\u0007"`, "an image reference is [HOST[:PORT]/]PATH[:TAG][@DIGEST]"},
	{"a huge image", "Devbox", "x", `image: ` + strings.Repeat("a", 100_000), "spec.image: Too long: may not be more than 512"},
	{"an unknown field, deep", "Devbox", "x", `{image: a, network: {type: None, nodePort: 80}}`, `unknown field "spec.network.nodePort"`},

	{"another service account", "Devbox", "x", `{image: a, serviceAccountName: coapply-manager}`, `unknown field "spec.serviceAccountName"`},
	{"a token", "NodeSet", "x", `{image: a, automountServiceAccountToken: true}`, `unknown field "spec.automountServiceAccountToken"`},
	{"the node's network", "NodeSet", "x", `{image: a, hostNetwork: true}`, `unknown field "spec.hostNetwork"`},
	{"the node's files", "SlurmController", "x", `{image: a, volumes: [{name: root, hostPath: {path: /}}]}`, `unknown field "spec.volumes"`},
	{"root on the node", "Devbox", "x", `{image: a, securityContext: {privileged: true}}`, `unknown field "spec.securityContext"`},
	{"a command", "SlurmController", "x", `{image: a, command: [sh]}`, `unknown field "spec.command"`},
	{"an environment", "NodeSet", "x", `{image: a, env: [{name: LD_PRELOAD, value: x}]}`, `unknown field "spec.env"`},
	{"a pod template", "Devbox", "x", `{image: a, template: {spec: {hostPID: true}}}`, `unknown field "spec.template"`},
	{"a node of one's choice", "NodeSet", "x", `{image: a, nodeName: control-plane}`, `unknown field "spec.nodeName"`},
	{"a Service that takes others' addresses", "Devbox", "x", `{image: a, network: {externalIPs: [10.0.0.1]}}`, `unknown field "spec.network.externalIPs"`},
	{"another namespace for a User", "User", "x", `namespace: kube-system`, `unknown field "spec.namespace"`},
	{"another role for a User", "User", "x", `role: cluster-admin`, `unknown field "spec.role"`},
	{"a load balancer", "Devbox", "x", `{image: a, network: {type: LoadBalancer}}`, `supported values`},

	{"no resource", "Devbox", "x", `{image: a, resources: {limits: {gpus: 1}}}`, "a resource is cpu, memory, ephemeral-storage, or a device with its domain"},
	{"a resource of Kubernetes' own that there is not", "NodeSet", "x", `{image: a, resources: {limits: {kubernetes.io/magic: 1}}}`, "a resource is cpu, memory, ephemeral-storage, or a device with its domain"},
	{"half a device", "NodeSet", "x", `{image: a, resources: {limits: {example.com/gpu: 500m}}}`, "the quantity of a device must be a whole number"},
	{"a device without a limit", "NodeSet", "x", `{image: a, resources: {requests: {example.com/gpu: 1}}}`, "a device cannot be overcommitted"},
	{"too many resources", "Devbox", "x", `{image: a, resources: {limits: {cpu: 1, memory: 1, ephemeral-storage: 1, a.com/a: 1, a.com/b: 1}}}`, "must have at most 4 items"},
	{"a quantity beyond all machines", "Devbox", "x", `{image: a, resources: {limits: {memory: 1e1000}}}`, "a quantity is at most 1P"},
	{"a quantity that overflows", "SlurmController", "x", `{image: a, resources: {limits: {cpu: "9223372036854775808"}}}`, "a quantity is at most 1P"},
	{"a quantity in digits without end", "Devbox", "x", `{image: a, resources: {limits: {cpu: "` + strings.Repeat("9", 5000) + `"}}}`, "a quantity is at most 1P"},
	{"no number", "Devbox", "x", `{image: a, resources: {limits: {cpu: NaN}}}`, "spec.resources.limits.cpu in body should match"},
	{"infinity", "NodeSet", "x", `{image: a, resources: {limits: {cpu: "Inf"}}}`, "spec.resources.limits.cpu in body should match"},
	{"a quantity as a float", "Devbox", "x", `{image: a, resources: {limits: {cpu: 0.5}}}`, "spec.resources.limits.cpu in body must be of type integer"},
	{"a limit below its request", "SlurmController", "x", `{image: a, resources: {requests: {memory: 2Gi}, limits: {memory: 2G}}}`, "a request must not be above its limit"},
	{"less than nothing", "NodeSet", "x", `{image: a, resources: {requests: {cpu: "-0.0001"}}}`, "a request must not be negative"},

	{"port 0", "SlurmController", "x", `{image: a, port: 0}`, "should be greater than or equal to 1"},
	{"port 65536", "SlurmController", "x", `{image: a, port: 65536}`, "should be less than or equal to 65535"},
	{"port -1", "Devbox", "x", `{image: a, network: {port: -1}}`, "should be greater than or equal to 1"},
	{"a port by name", "Devbox", "x", `{image: a, network: {port: ssh}}`, `must be of type integer: "string"`},
	{"fewer than no pods", "NodeSet", "x", `{image: a, replicas: -1}`, "should be greater than or equal to 0"},
	{"more pods than a NodeSet may have", "NodeSet", "x", `{image: a, replicas: 5001}`, "should be less than or equal to 5000"},
	{"more pods than a number holds", "NodeSet", "x", `{image: a, replicas: 4294967297}`, "should be less than or equal to 5000"},
	{"half a pod", "NodeSet", "x", `{image: a, replicas: 1.5}`, "spec.replicas in body must be of type int"}, // integer on 1.34, int32 from 1.36 on
	{"none may be missing", "NodeSet", "x", `{image: a, maxUnavailable: 0}`, "should be greater than or equal to 1"},
	{"a controller that cannot be", "NodeSet", "x", `{image: a, controllerName: a.other-namespace}`, "spec.controllerName in body should match"},

	{"a line break in a name for people", "User", "x", `displayName: "a\nb"`, "must not contain line breaks or control characters"},
	{"a terminal's escape in a name for people", "User", "x", `displayName: "\u001b[31mroot"`, "must not contain line breaks or control characters"},
	{"an escape of one character", "User", "x", `displayName: "\u009b31mroot"`, "must not contain line breaks or control characters"},
	{"a name for people that is read backwards", "User", "x", `displayName: "\u202etoor"`, "must not contain line breaks or control characters"},
	{"a huge name for people", "User", "x", `displayName: ` + strings.Repeat("a", 129), "may not be more than 128"},

	{"no limits", "License", "x", `{}`, "spec.limits: Required value"},
	{"empty limits", "License", "x", `limits: {}`, "should have at least 1 properties"},
	{"a limit of what there is not", "License", "x", `limits: {secrets: 1}`, "a limit is one of cpu, memory, pods"},
	{"a negative limit", "License", "x", `limits: {cpu: -1}`, "a limit must not be negative"},
	{"half a pod", "License", "x", `limits: {pods: 500m}`, "a limit on a number of objects must be a whole number"},
	{"a limit that overflows", "License", "x", `limits: {pods: "1e30"}`, "a limit is at most 1P"},
	{"it ends before it begins", "License", "x", `{limits: {pods: 1}, notBefore: "2026-01-02T00:00:00Z", notAfter: "2026-01-01T00:00:00Z"}`, "notBefore must be before notAfter"},
	{"it ends when it begins", "License", "x", `{limits: {pods: 1}, notBefore: "2026-01-01T00:00:00Z", notAfter: "2026-01-01T01:00:00+01:00"}`, "notBefore must be before notAfter"},
	{"no time", "License", "x", `{limits: {pods: 1}, notAfter: tomorrow}`, "spec.notAfter in body must be of type date-time"},
	{"a day that is none", "License", "x", `{limits: {pods: 1}, notAfter: "2026-02-30T00:00:00Z"}`, "spec.notAfter in body must be of type date-time"},
	{"a time in seconds", "License", "x", `{limits: {pods: 1}, notAfter: 1767225600}`, "spec.notAfter in body must be of type date-time"},

	{"no action", "NodeMaintenance", "x", `nodes: [a]`, "spec.action: Required value"},
	{"an action that there is not", "NodeMaintenance", "x", `{action: Drain, nodes: [a]}`, `supported values: "Cordon", "Uncordon"`},
	{"a strategy that there is not", "NodeMaintenance", "x", `{action: Cordon, strategy: Delete, nodes: [a]}`, `supported values: "Apply", "Update"`},
	{"neither nodes nor a selector", "NodeMaintenance", "x", `action: Cordon`, "set either nodes or nodeSelector"},
	{"both", "NodeMaintenance", "x", `{action: Cordon, nodes: [a], nodeSelector: {matchLabels: {a: b}}}`, "set either nodes or nodeSelector"},
	{"no nodes", "NodeMaintenance", "x", `{action: Cordon, nodes: []}`, "should have at least 1 items"},
	{"a node twice", "NodeMaintenance", "x", `{action: Cordon, nodes: [a, b, a]}`, "spec.nodes[2]: Duplicate value"},
	{"a path for a node", "NodeMaintenance", "x", `{action: Cordon, nodes: ["../pods/a"]}`, "spec.nodes[0] in body should match"},
	{"a node without a name", "NodeMaintenance", "x", `{action: Cordon, nodes: [""]}`, "spec.nodes[0] in body should be at least 1 chars long"},
	{"more nodes than may be", "NodeMaintenance", "x", `{action: Cordon, nodes: [` + nodeNames(1001) + `]}`, "must have at most 1000 items"},
	{"every node, by mistake", "NodeMaintenance", "x", `{action: Cordon, nodeSelector: {}}`, "an empty selector would select every node"},
	{"every node, by an empty list", "NodeMaintenance", "x", `{action: Cordon, nodeSelector: {matchExpressions: []}}`, "an empty selector would select every node"},
	{"an operator that there is not", "NodeMaintenance", "x", `{action: Cordon, nodeSelector: {matchExpressions: [{key: a, operator: Gt, values: ["5"]}]}}`, `supported values: "In", "NotIn", "Exists", "DoesNotExist"`},
	{"In nothing", "NodeMaintenance", "x", `{action: Cordon, nodeSelector: {matchExpressions: [{key: a, operator: In}]}}`, "In and NotIn need values"},
	{"Exists with values", "NodeMaintenance", "x", `{action: Cordon, nodeSelector: {matchExpressions: [{key: a, operator: Exists, values: [b]}]}}`, "Exists and DoesNotExist have none"},
	{"no label", "NodeMaintenance", "x", `{action: Cordon, nodeSelector: {matchLabels: {"a b": c}}}`, "a label key is [PREFIX/]NAME"},
	{"no label's value", "NodeMaintenance", "x", `{action: Cordon, nodeSelector: {matchLabels: {a: "b c"}}}`, "a label value is empty, or at most 63 letters"},
	{"no label, in an expression", "NodeMaintenance", "x", `{action: Cordon, nodeSelector: {matchExpressions: [{key: "a/b/c", operator: Exists}]}}`, "a label key is [PREFIX/]NAME"},
	{"force to cordon", "NodeMaintenance", "x", `{action: Cordon, force: true, nodes: [a]}`, "force is allowed only with action Uncordon and strategy Apply"},
	{"force with the fallback", "NodeMaintenance", "x", `{action: Uncordon, strategy: Update, force: true, nodes: [a]}`, "force is allowed only with action Uncordon and strategy Apply"},
	{"none at a time", "NodeMaintenance", "x", `{action: Cordon, concurrency: 0, nodes: [a]}`, "should be greater than or equal to 1"},
	{"too many at a time", "NodeMaintenance", "x", `{action: Cordon, concurrency: 51, nodes: [a]}`, "should be less than or equal to 50"},
	{"no time for a node", "NodeMaintenance", "x", `{action: Cordon, nodeDeadlineSeconds: 0, nodes: [a]}`, "should be greater than or equal to 1"},
	{"too much time for a node", "NodeMaintenance", "x", `{action: Cordon, nodeDeadlineSeconds: 2147483648, nodes: [a]}`, "should be less than or equal to 300"},
	{"a line break in a reason", "NodeMaintenance", "x", `{action: Cordon, reason: "a\nb", nodes: [a]}`, "a reason must not contain line breaks"},
	{"a line separator in a reason", "NodeMaintenance", "x", `{action: Cordon, reason: "a\u2028b", nodes: [a]}`, "a reason must not contain line breaks"},
	{"a reason that hides its end", "NodeMaintenance", "x", `{action: Cordon, reason: "a\u2066b", nodes: [a]}`, "a reason must not contain line breaks"},

	{"a field of 1.6 MiB", "User", "x", `displayName: ` + strings.Repeat("a", 1_700_000), "may not be more than 128"},
	{"an object of more than 3 MiB", "User", "x", `displayName: ` + strings.Repeat("a", 3_200_000), "Request entity too large"},
	{"a field without a bottom", "Devbox", "x", `{image: a, x: ` + strings.Repeat(`{x: `, 5000) + `1` + strings.Repeat(`}`, 5000) + `}`, `unknown field "spec.x"`},
}

// accepted look odd and are fine.
var accepted = []struct{ reason, kind, name, spec string }{
	{"its Namespace is user-kube-system", "User", "kube-system", `{}`},
	{"its Namespace is user-default", "User", "default", `displayName: "Ünïcødé 名前 (person)"`},
	{"no spec at all", "User", "0", ``},
	{"as long as can be", "User", strings.Repeat("a", 58), `{}`},
	{"every limit that there is", "License", "x", `limits: {cpu: 1, memory: 1Gi, pods: 1, services: 1, services.nodeports: 1, persistentvolumeclaims: 1,
		requests.cpu: 1, requests.memory: 1, requests.storage: 1, limits.cpu: 1, limits.memory: 1, count/devboxes.platform.coapply.dev: "1k"}`},
	{"nothing at all", "License", "x", `limits: {pods: 0}`},
	{"an image on a host of one's own", "Devbox", "x", `image: "Registry.example.com:5000/a/b_c/d-e:V1.0@sha256:` + strings.Repeat("0a", 32) + `"`},
	{"an image on an address", "Devbox", "x", `image: "[::1]:5000/a"`},
	{"devices", "NodeSet", strings.Repeat("a", 58), `{image: a, replicas: 5000, resources: {requests: {example.com/gpu: 8, cpu: 1}, limits: {example.com/gpu: "8", cpu: "1.5"}}}`},
	{"no pods", "NodeSet", "x", `{image: a, replicas: 0}`},
	{"as long as can be", "SlurmController", strings.Repeat("a", 52), `{image: a, port: 65535}`},
	{"every operator", "NodeMaintenance", "x", `{action: Cordon, nodeSelector: {matchLabels: {"kubernetes.io/os": "", a: b}, matchExpressions: [
		{key: a, operator: In, values: [b, ""]}, {key: a, operator: NotIn, values: [c]}, {key: d.e/f, operator: Exists}, {key: g, operator: DoesNotExist, values: []}]}}`},
	{"as many nodes as can be", "NodeMaintenance", "x", `{action: Uncordon, force: true, concurrency: 50, nodes: [` + nodeNames(1000) + `]}`},
}

func nodeNames(n int) string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("n%d", i)
	}
	return strings.Join(names, ",")
}
