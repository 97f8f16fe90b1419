package target

import (
	"context"
	"net/http"
	"slices"

	discoveryv1 "k8s.io/api/discovery/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// priority names the FlowSchema and the PriorityLevelConfiguration that apply to requests of the benchmark's user. It
// is empty if API priority and fairness is switched off, or if the names cannot be read.
type priority struct{ flowSchema, level string }

// priority returns the FlowSchema and the PriorityLevelConfiguration of the benchmark's user. It sends a request as
// this user, and looks up the names for the UIDs in the response headers.
func (t *Target) priority(ctx context.Context) priority {
	header, err := t.answerToUser(ctx)
	if err != nil {
		return priority{}
	}
	var schemas flowcontrolv1.FlowSchemaList
	var levels flowcontrolv1.PriorityLevelConfigurationList
	for _, list := range []client.ObjectList{&schemas, &levels} {
		if err := t.client.List(ctx, list); err != nil {
			return priority{}
		}
	}
	var found priority
	uid := types.UID(header.Get(flowcontrolv1.ResponseHeaderMatchedFlowSchemaUID))
	if i := slices.IndexFunc(schemas.Items, func(s flowcontrolv1.FlowSchema) bool { return s.UID == uid }); i >= 0 {
		found.flowSchema = schemas.Items[i].Name
	}
	uid = types.UID(header.Get(flowcontrolv1.ResponseHeaderMatchedPriorityLevelConfigurationUID))
	if i := slices.IndexFunc(levels.Items, func(l flowcontrolv1.PriorityLevelConfiguration) bool { return l.UID == uid }); i >= 0 {
		found.level = levels.Items[i].Name
	}
	return found
}

func (t *Target) answerToUser(ctx context.Context) (http.Header, error) {
	c, address, err := t.asUser()
	if err != nil {
		return nil, err
	}
	defer c.CloseIdleConnections()
	_, header, err := get(ctx, c, address)
	return header, err
}

// asUser returns an HTTP client for the benchmark's user, and the URL of /version. The client has a connection of its
// own. A request for /version reads no object.
func (t *Target) asUser() (*http.Client, string, error) {
	address, _, err := rest.DefaultServerUrlFor(t.user)
	if err != nil {
		return nil, "", err
	}
	c, err := rest.HTTPClientFor(t.user)
	return c, address.JoinPath("version").String(), err
}

// manyServers reports whether the cluster has several API servers. It counts the endpoints of the service kubernetes,
// and returns false if they cannot be read. Snapshot.Until still detects several servers by their start times.
func (t *Target) manyServers(ctx context.Context) bool {
	slices, err := t.set.DiscoveryV1().EndpointSlices(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{
		LabelSelector: discoveryv1.LabelServiceName + "=kubernetes",
	})
	if err != nil {
		return false
	}
	for i := range slices.Items {
		if len(slices.Items[i].Endpoints) > 1 {
			return true
		}
	}
	return false
}
