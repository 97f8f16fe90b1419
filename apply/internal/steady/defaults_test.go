package steady

import (
	"reflect"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	networkingv1 "k8s.io/api/networking/v1"
	storagev1 "k8s.io/api/storage/v1"
)

// widgetModels are those of a custom resource with defaults. A named type is what an
// aggregated API has instead.
const widgetModels = `
Widget:
  type: object
  x-kubernetes-group-version-kind: [{group: example.com, version: v1, kind: Widget}]
  properties:
    apiVersion: {type: string}
    kind: {type: string}
    metadata: {type: object, properties: {name: {type: string}, namespace: {type: string}, uid: {type: string}, resourceVersion: {type: string}}}
    spec:
      type: object
      properties:
        loose: {type: object, properties: {a: {type: string}, b: {type: string, default: d}}}
        whole:
          type: object
          x-kubernetes-map-type: atomic
          properties: {a: {type: string, nullable: true}, b: {type: string, default: d}, n: {type: integer, default: 1}}
        many: {type: array, items: {type: object, properties: {a: {type: string, default: d}, n: {type: integer}}}}
        deep:
          type: object
          x-kubernetes-map-type: atomic
          properties: {in: {type: object, default: {}, properties: {a: {type: string, default: d}}}}
        table:
          type: object
          x-kubernetes-map-type: atomic
          additionalProperties: {type: object, properties: {a: {type: string, default: d}}}
        keyed:
          type: array
          x-kubernetes-list-type: map
          x-kubernetes-list-map-keys: [key]
          items: {type: object, properties: {key: {type: string}, whole: {type: array, items: {type: object, properties: {a: {type: string, default: d}}}}}}
        named: {$ref: "#/definitions/Named"}
        broken:
          type: object
          x-kubernetes-map-type: atomic
          properties: {a: {type: string}, b: {type: string}, m: {type: string, default: {a: b}}, l: {type: string, default: [a]}}
        ports: {type: array, items: {$ref: "#/definitions/io.k8s.api.networking.v1.NetworkPolicyPort"}}
io.k8s.api.networking.v1.NetworkPolicyPort:
  type: object
  properties: {port: {type: integer}, protocol: {type: string}}
Named:
  type: object
  x-kubernetes-map-type: atomic
  properties: {a: {type: string}, b: {type: string, default: d}}
`

// serversModels are as the API server has them, as far as the tests need them.
const serversModels = `
io.k8s.api.admissionregistration.v1.ValidatingAdmissionPolicy:
  type: object
  x-kubernetes-group-version-kind: [{group: admissionregistration.k8s.io, version: v1, kind: ValidatingAdmissionPolicy}]
  properties:
    apiVersion: {type: string}
    kind: {type: string}
    metadata: {type: object, properties: {name: {type: string}, namespace: {type: string}, uid: {type: string}, resourceVersion: {type: string}}}
    status: {type: object, properties: {observedGeneration: {type: integer}}}
    spec:
      type: object
      properties:
        matchConstraints: {$ref: "#/definitions/io.k8s.api.admissionregistration.v1.MatchResources"}
        validations: {type: array, x-kubernetes-list-type: atomic, items: {type: object}}
io.k8s.api.admissionregistration.v1.MatchResources:
  type: object
  x-kubernetes-map-type: atomic
  properties:
    matchPolicy: {type: string}
    namespaceSelector: {type: object, default: {}}
    objectSelector: {type: object}
    resourceRules: {type: array, x-kubernetes-list-type: atomic, items: {$ref: "#/definitions/io.k8s.api.admissionregistration.v1.NamedRuleWithOperations"}}
io.k8s.api.admissionregistration.v1.NamedRuleWithOperations:
  type: object
  x-kubernetes-map-type: atomic
  properties:
    apiGroups: {type: array, x-kubernetes-list-type: atomic, items: {type: string, default: ""}}
    apiVersions: {type: array, x-kubernetes-list-type: atomic, items: {type: string, default: ""}}
    operations: {type: array, x-kubernetes-list-type: atomic, items: {type: string, default: ""}}
    resources: {type: array, x-kubernetes-list-type: atomic, items: {type: string, default: ""}}
    scope: {type: string}
io.k8s.api.networking.v1.NetworkPolicy:
  type: object
  x-kubernetes-group-version-kind: [{group: networking.k8s.io, version: v1, kind: NetworkPolicy}]
  properties:
    apiVersion: {type: string}
    kind: {type: string}
    metadata: {type: object, properties: {name: {type: string}, namespace: {type: string}, uid: {type: string}, resourceVersion: {type: string}}}
    spec:
      type: object
      properties:
        podSelector: {type: object}
        egress:
          type: array
          x-kubernetes-list-type: atomic
          items: {type: object, properties: {to: {type: string, default: x}, ports: {type: array, x-kubernetes-list-type: atomic, items: {$ref: "#/definitions/io.k8s.api.networking.v1.NetworkPolicyPort"}}}}
io.k8s.api.networking.v1.NetworkPolicyPort:
  type: object
  properties: {port: {x-kubernetes-int-or-string: true}, protocol: {type: string}}
io.k8s.api.storage.v1.CSINode:
  type: object
  x-kubernetes-group-version-kind: [{group: storage.k8s.io, version: v1, kind: CSINode}]
  properties:
    apiVersion: {type: string}
    kind: {type: string}
    metadata: {type: object, properties: {name: {type: string}, namespace: {type: string}, uid: {type: string}, resourceVersion: {type: string}}}
    spec:
      type: object
      properties:
        drivers:
          type: array
          x-kubernetes-list-type: map
          x-kubernetes-list-map-keys: [name]
          items: {type: object, properties: {name: {type: string, default: ""}, nodeID: {type: string, default: ""}, topologyKeys: {type: array, items: {type: string}}}}
`

func widgetOf(fields string) string {
	return "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: web, namespace: shop}\nspec: " + fields + "\n"
}

func validatingOf(constraints string) string {
	return "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata: {name: web}\nspec: {matchConstraints: " + constraints + "}\n"
}

func egressTo(port string) string {
	return "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: web, namespace: shop}\nspec: {egress: [{ports: [" + port + "]}]}\n"
}

// TestProveDefaults: what the server adds to a value that is owned as a whole is proven, as
// far as the schema of a custom resource, or serverDefaults, say that it does.
func TestProveDefaults(t *testing.T) {
	widgets, servers := schemasIn(t, widgetModels), schemasIn(t, serversModels)
	prove := func(config, live string) *proofCase { return newProof(t, widgets, widgetOf(config), widgetOf(live)) }
	validating := func(config, live string) *proofCase {
		return newProof(t, servers, validatingOf(config), validatingOf(live)).asks(func(r *Request) { r.GoType = reflect.TypeFor[admissionv1.ValidatingAdmissionPolicy]() })
	}
	egress := func(config, live string) *proofCase {
		return newProof(t, servers, egressTo(config), egressTo(live)).asks(func(r *Request) { r.GoType = reflect.TypeFor[networkingv1.NetworkPolicy]() })
	}
	const (
		proven, exactly = "", "exactly"
		change          = "the apply would change"
		rules           = "resourceRules: [{apiGroups: [a], apiVersions: [v1], operations: [CREATE], resources: [x]}]"
		rulesOf         = "resourceRules: [{apiGroups: [a], apiVersions: [v1], operations: [CREATE], resources: [x], scope: "
		matching        = "matchPolicy: Equivalent, namespaceSelector: {}, objectSelector: {}"
	)
	for name, c := range map[string]struct {
		*proofCase

		want string
	}{
		"a field beside":             {prove("{loose: {a: x}}", "{loose: {a: x, b: d}}"), exactly},
		"whole":                      {prove("{whole: {a: x}}", "{whole: {a: x, b: d, n: 1}}"), proven},
		"whole, and nothing wanted":  {prove("{whole: {}}", "{whole: {b: d, n: 1}}"), proven},
		"whole, as it is":            {prove("{whole: {b: d, n: 1}}", "{whole: {b: d, n: 1}}"), exactly},
		"whole, and shared":          {prove("{whole: {a: x}}", "{whole: {a: x, b: d, n: 1}}").sharedBy(`{"f:spec":{"f:whole":{}}}`), "sharer also owns"},
		"another value than default": {prove("{whole: {a: x}}", "{whole: {a: x, b: e, n: 1}}"), change},
		"a default is missing":       {prove("{whole: {a: x}}", "{whole: {a: x, b: d}}"), change},
		"more than defaults":         {prove("{whole: {b: d}}", "{whole: {a: x, b: d, n: 1}}"), change},
		"another value":              {prove("{many: [{a: x}]}", "{many: [{a: z}]}"), change},
		"null for a default":         {prove("{whole: {a: x, b: null}}", "{whole: {a: x, b: d, n: 1}}"), change},
		"null beside a default":      {prove("{whole: {a: null}}", "{whole: {a: null, b: d, n: 1}}"), change},
		"items":                      {prove("{many: [{a: x}, {n: 2}]}", "{many: [{a: x}, {a: d, n: 2}]}"), proven},
		"items in another order":     {prove("{many: [{a: x}, {n: 2}]}", "{many: [{a: d, n: 2}, {a: x}]}"), change},
		"an item more":               {prove("{many: [{n: 2}]}", "{many: [{a: d, n: 2}, {a: d}]}"), change},
		"a default in a default":     {prove("{deep: {in: {}}}", "{deep: {in: {a: d}}}"), proven},
		"entries of a table":         {prove("{table: {x: {}}}", "{table: {x: {a: d}}}"), proven},
		"whole, in an item":          {prove("{keyed: [{key: a, whole: [{}, {a: x}]}]}", "{keyed: [{key: a, whole: [{a: d}, {a: x}]}]}"), "sets no field"},
		"a default of another type":  {prove("{broken: {a: x}}", "{broken: {a: x, b: z}}"), change},
		"whole, and a field beside":  {prove("{loose: {a: x}, whole: {a: x}}", "{loose: {a: x, b: e}, whole: {a: x, b: d, n: 1}}"), proven},
		"a server's type of others":  {prove("{ports: [{port: 53}]}", "{ports: [{port: 53, protocol: TCP}]}"), change},
		"of an aggregated API":       {prove("{named: {a: x}}", "{named: {a: x, b: d}}"), change},

		"server: a policy":         {validating("{"+rules+"}", "{"+matching+", "+rulesOf+"'*'}]}"), proven},
		"server: of no Go type":    {validating("{"+rules+"}", "{"+matching+", "+rulesOf+"'*'}]}").asks(func(r *Request) { r.GoType = nil }), proven},
		"server: null":             {validating("{matchPolicy: null, "+rules+"}", "{"+matching+", "+rulesOf+"'*'}]}"), proven},
		"server: another scope":    {validating("{"+rules+"}", "{"+matching+", "+rulesOf+"Cluster}]}"), change},
		"server: another policy":   {validating("{"+rules+"}", "{matchPolicy: Exact, namespaceSelector: {}, objectSelector: {}, "+rulesOf+"'*'}]}"), change},
		"server: one given":        {validating("{matchPolicy: Exact, "+rules+"}", "{matchPolicy: Exact, namespaceSelector: {}, objectSelector: {}, "+rulesOf+"'*'}]}"), proven},
		"server: without defaults": {validating("{"+rules+"}", "{"+rulesOf+"'*'}]}"), change},
		"server: a port":           {egress("{port: 53}", "{port: 53, protocol: TCP}"), proven},
		"server: another protocol": {egress("{port: 53}", "{port: 53, protocol: UDP}"), change},
	} {
		t.Run(name, func(t *testing.T) { c.wants(t, c.want) })
	}
}

// TestProveNewerStruct: a struct that a server's schema does not have is there in a typed
// read, if the Go type is newer. Nothing is in it.
func TestProveNewerStruct(t *testing.T) {
	const node = "apiVersion: storage.k8s.io/v1\nkind: CSINode\nmetadata: {name: n1}\nspec: {drivers: [{name: a, nodeID: x}]}\n"
	read := func() *proofCase {
		c := newProof(t, schemasIn(t, serversModels), node).readAs(t, &storagev1.CSINode{})
		c.request.GoType = reflect.TypeFor[storagev1.CSINode]()
		return c
	}
	read().wants(t, "exactly")
	other := read()
	other.read.Object.(*storagev1.CSINode).Spec.Drivers[0].NodeID = "y" //nolint:forcetypeassert // see above
	other.wants(t, "the apply would change")
}

// TestProveEmptyDefaults: the API server restores the default of an empty map, and removes all other fields without
// an owner.
func TestProveEmptyDefaults(t *testing.T) {
	apps := schemasOf(t, serverModels(t, "apis/apps/v1"))
	daemons := strings.NewReplacer("Deployment", "DaemonSet", "strategy", "updateStrategy")
	prove := func(fields string) (deployment, daemonSet *proofCase) {
		wanted, live := strategy("{}"), strategy("{type: RollingUpdate, rollingUpdate: {"+fields+"}}")
		return newProof(t, apps, wanted, live), newProof(t, apps, daemons.Replace(wanted), daemons.Replace(live))
	}
	const clears = "without an owner"
	for fields, want := range map[string][2]string{
		"maxSurge: 25%, maxUnavailable: 25%": {"", clears},
		"maxSurge: 0, maxUnavailable: 1":     {clears, ""},
		"maxSurge: 25%":                      {clears, clears},
	} {
		deployment, daemonSet := prove(fields)
		deployment.wants(t, want[0])
		daemonSet.wants(t, want[1])
	}
}
