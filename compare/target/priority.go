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

// priority is what the API server's priority and fairness puts the user's requests under; empty if it is switched off
// or does not show it.
type priority struct{ flowSchema, level string }

// priority reads from the headers of an answer to the user what it fell under, and from the objects their names.
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

// asUser returns a client with a connection of its own, and the address of what reads no object.
func (t *Target) asUser() (*http.Client, string, error) {
	address, _, err := rest.DefaultServerUrlFor(t.user)
	if err != nil {
		return nil, "", err
	}
	c, err := rest.HTTPClientFor(t.user)
	return c, address.JoinPath("version").String(), err
}

// manyServers counts the addresses of the service kubernetes. Where it may not be read, one is assumed: another server's
// page has another time of start, which Snapshot.Until notices.
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
