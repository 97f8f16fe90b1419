package steady

import (
	"encoding/json"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
)

// What follows are kinds of the server as an older client knows them: each lacks fields
// that the server has, by themselves, in items, in values of maps and in what is atomic.

// olderScheme has them, and no other kinds.
var olderScheme = func() *runtime.Scheme {
	s := runtime.NewScheme()
	s.AddKnownTypeWithName(appsv1.SchemeGroupVersion.WithKind("Deployment"), &olderDeployment{})
	s.AddKnownTypeWithName(steadySample, &olderSample{})
	metav1.AddToGroupVersion(s, appsv1.SchemeGroupVersion) // the options of requests
	metav1.AddToGroupVersion(s, steadySample.GroupVersion())
	return s
}()

type olderDeployment struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec   olderDeploymentSpec     `json:"spec,omitzero"`
	Status appsv1.DeploymentStatus `json:"status,omitzero"`
}

type olderDeploymentSpec struct {
	Replicas *int32                     `json:"replicas,omitempty"`
	Paused   bool                       `json:"paused,omitempty"`
	Selector *metav1.LabelSelector      `json:"selector,omitempty"`
	Strategy *appsv1.DeploymentStrategy `json:"strategy,omitempty"`
	Template olderTemplate              `json:"template,omitzero"`
}

type olderTemplate struct {
	metav1.ObjectMeta `json:"metadata,omitzero"`

	Spec olderPodSpec `json:"spec,omitzero"`
}

type olderPodSpec struct {
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	Tolerations  []olderToleration `json:"tolerations,omitempty"`
	Containers   []olderContainer  `json:"containers,omitempty"`
	Volumes      []olderVolume     `json:"volumes,omitempty"`
}

type olderToleration struct {
	Key      string `json:"key,omitempty"`
	Operator string `json:"operator,omitempty"`
}

type olderContainer struct {
	Name         string               `json:"name"`
	Image        string               `json:"image,omitempty"`
	Args         []string             `json:"args,omitempty"`
	Command      []string             `json:"command,omitempty"`
	Env          []olderNamed         `json:"env,omitempty"`
	Ports        []olderContainerPort `json:"ports,omitempty"`
	VolumeMounts []corev1.VolumeMount `json:"volumeMounts,omitempty"`
}

type olderNamed struct {
	Name string `json:"name"`
}

type olderContainerPort struct {
	ContainerPort int32  `json:"containerPort"`
	Protocol      string `json:"protocol,omitempty"`
}

type olderVolume struct {
	Name     string    `json:"name"`
	EmptyDir *struct{} `json:"emptyDir,omitempty"`
}

type olderSample struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec   olderSampleSpec   `json:"spec,omitzero"`
	Status olderSampleStatus `json:"status,omitzero"`
}

type olderSampleSpec struct {
	Title    string                `json:"title,omitempty"`
	Count    int64                 `json:"count,omitempty"`
	Enabled  *bool                 `json:"enabled,omitempty"`
	Size     *intstr.IntOrString   `json:"size,omitempty"`
	Selector map[string]string     `json:"selector,omitempty"`
	Tags     []string              `json:"tags,omitempty"`
	Order    []string              `json:"order,omitempty"`
	Steps    []olderStep           `json:"steps,omitempty"`
	Things   map[string]olderThing `json:"things,omitempty"`
	Items    []olderItem           `json:"items,omitempty"`
	Ports    []olderPort           `json:"ports,omitempty"`
	Nested   *olderNested          `json:"nested,omitempty"`
	Filled   map[string]string     `json:"filled,omitempty"`
}

type olderStep struct {
	Do string `json:"do,omitempty"`
}

type olderThing struct {
	Color string `json:"color,omitempty"`
}

type olderItem struct {
	Name  string       `json:"name"`
	Image string       `json:"image,omitempty"`
	Flags []int64      `json:"flags,omitempty"`
	Env   []olderNamed `json:"env,omitempty"`
}

type olderPort struct {
	Port     int64  `json:"port"`
	Protocol string `json:"protocol,omitempty"`
	Alias    string `json:"alias,omitempty"`
}

type olderNested struct {
	Name string `json:"name,omitempty"`
}

type olderSampleStatus struct {
	Phase      string           `json:"phase,omitempty"`
	Conditions []olderCondition `json:"conditions,omitempty"`
}

type olderCondition struct {
	Type   string `json:"type"`
	Status string `json:"status,omitempty"`
}

func (d *olderDeployment) DeepCopyObject() runtime.Object { return copyByJSON(d, &olderDeployment{}) }

func (s *olderSample) DeepCopyObject() runtime.Object { return copyByJSON(s, &olderSample{}) }

func copyByJSON(from any, to client.Object) client.Object {
	raw, err := json.Marshal(from)
	if err == nil {
		err = json.Unmarshal(raw, to)
	}
	if err != nil {
		panic(err)
	}
	return to
}

// isOlder reports whether an object was read as one of them.
func isOlder(read client.Object) bool {
	kinds, _, err := olderScheme.ObjectKinds(read)
	return err == nil && len(kinds) == 1
}

func newOlderClient(t *testing.T, config *rest.Config) client.Client {
	t.Helper()
	return newClientOf(t, config, olderScheme)
}

// newClientOf returns a client that knows the types of a scheme.
func newClientOf(t *testing.T, config *rest.Config, scheme *runtime.Scheme) client.Client {
	t.Helper()
	config = rest.CopyConfig(config)
	config.Wrap(apply.RecordExchange)
	config.ContentType = runtime.ContentTypeJSON // the types have no protocol buffers
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
