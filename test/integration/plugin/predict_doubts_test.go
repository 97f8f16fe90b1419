package plugin

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"coapply.dev/test/kit"
)

// TestPredictDoubts: where another apiVersion, client-side kubectl or stringData
// come in, the prediction says so, and what it says beside that is right.
func TestPredictDoubts(t *testing.T) {
	c := kit.NewClient(t, kit.Server(t))
	namespace := kit.NewNamespace(t, c)
	for name, test := range map[string]struct {
		reason, created, intent, manager string
		causes                           []string // of the server
		doubts                           []string
	}{
		"a version with other names": {
			reason: "targetCPUUtilizationPercentage of v1 is in metrics of v2",
			created: `{apiVersion: autoscaling/v1, kind: HorizontalPodAutoscaler, metadata: {labels: {a: x}}, spec: {maxReplicas: 3,
				targetCPUUtilizationPercentage: 50, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: a}}}`,
			intent: `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {labels: {a: z}}, spec: {maxReplicas: 3,
				metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 60}}}]}}`, //nolint:misspell // a word of the API
			causes: []string{".metadata.labels.a", ".spec.targetCPUUtilizationPercentage"},
			doubts: []string{".spec"},
		},
		"client-side kubectl": {
			reason: "its server-side apply takes what its client-side apply recorded",
			created: `{apiVersion: v1, kind: ConfigMap, metadata: {annotations: {kubectl.kubernetes.io/last-applied-configuration:
				'{"apiVersion":"v1","kind":"ConfigMap","data":{"a":"x"}}'}}, data: {a: x, b: x}}`,
			intent:  `{apiVersion: v1, kind: ConfigMap, data: {a: z}}`,
			manager: "kubectl",
			doubts:  []string{".data.a", `.metadata.annotations["kubectl.kubernetes.io/last-applied-configuration"]`},
		},
		"client-side kubectl with more": {
			reason: "what it had not set conflicts all the same",
			created: `{apiVersion: v1, kind: ConfigMap, metadata: {annotations: {kubectl.kubernetes.io/last-applied-configuration:
				'{"apiVersion":"v1","kind":"ConfigMap","data":{"a":"x"}}'}}, data: {a: x, b: x}}`,
			intent:  `{apiVersion: v1, kind: ConfigMap, data: {a: z, b: z}}`,
			manager: "kubectl", causes: []string{".data.b"},
			doubts: []string{".data.a", ".data.b", `.metadata.annotations["kubectl.kubernetes.io/last-applied-configuration"]`},
		},
		"stringData": {
			reason:  "overwrites data of others without a conflict",
			created: `{apiVersion: v1, kind: Secret, data: {a: eA==}}`,
			intent:  `{apiVersion: v1, kind: Secret, stringData: {a: z}}`,
			doubts:  []string{".data", ".stringData"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Log(test.reason)
			live := parsed(t, test.created, namespace)
			live.SetGenerateName("x-")
			if err := c.Create(t.Context(), live, client.FieldOwner("other")); err != nil {
				t.Fatal(err)
			}
			intent := parsed(t, test.intent, namespace)
			intent.SetName(live.GetName())
			live = intent.DeepCopy() // read it in the version of the intent
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(intent), live); err != nil {
				t.Fatal(err)
			}
			if test.manager == "" {
				test.manager = "us"
			}
			try, err := newTrial(t.Context(), c, live, intent, test.manager, "")
			if err != nil {
				t.Fatal(err)
			}
			var causes, doubts []string
			for _, cause := range try.causes {
				causes = append(causes, cause.Field)
			}
			for _, d := range try.predicted.Unsure {
				doubts = append(doubts, d.Path.String())
			}
			slices.Sort(causes)
			if !slices.Equal(causes, test.causes) || !slices.Equal(doubts, test.doubts) {
				t.Errorf("the server says %q, doubts are %q", causes, doubts)
			}
			if diff := try.difference(); diff != "" {
				t.Errorf("predicted:\n%v\n(-server +predicted):\n%s", try.predicted, diff)
			}
		})
	}
}

func parsed(t *testing.T, text, namespace string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err == nil {
		err = object.UnmarshalJSON(raw)
	}
	if err != nil {
		t.Fatal(err)
	}
	object.SetNamespace(namespace)
	return object
}
