package coapply

import (
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
)

func TestUnwatched(t *testing.T) {
	raw := func(kind string) runtime.ApplyConfiguration {
		return client.ApplyConfigurationFromUnstructured(&unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": kind}})
	}
	var told []string
	u := &unwatched{
		log:     funcr.New(func(_, args string) { told = append(told, args) }, funcr.Options{}),
		watched: map[schema.GroupKind]bool{{Kind: "Secret"}: true},
	}
	for range 2 {
		for _, intent := range []apply.Intent{
			{Config: corev1ac.ConfigMap("web", "shop")}, {Config: corev1ac.Secret("web", "shop")}, {Config: raw("Service")}, {Config: raw("Secret")},
			{Config: raw("ConfigMap")}, {Config: corev1ac.Node("a"), MustExist: true}, {},
		} {
			u.look(intent)
		}
	}
	if len(told) != 2 || !strings.Contains(told[0], `"kind"="ConfigMap"`) || !strings.Contains(told[1], `"kind"="Service"`) {
		t.Errorf("told %q, want ConfigMap and Service, once each", told)
	}
}
