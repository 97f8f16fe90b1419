package audit

import (
	"bytes"
	"fmt"
	"strings"

	"coapply.dev/cmd/kubectl-fieldowners/internal/objects"
)

// corpus makes List pages as an API server answers with them when it is asked for
// metadata only: Pods of 3 managers, or Deployments of 3 to 5.
type corpus struct {
	objects int
	pods    bool
	small   bool // one manager of two fields each
	shapes  int  // how many different managed fields a kind and manager has; 0: none is like another
}

// page returns the page that begins with the object start; next is the start of the
// page behind it, 0 behind the last.
func (c corpus) page(start int) (page []byte, next int) {
	end := min(start+objects.PageSize, c.objects)
	if end < c.objects {
		next = end
	}
	var b bytes.Buffer
	b.WriteString(`{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"7319"`)
	if next > 0 {
		fmt.Fprintf(&b, `,"continue":"%d","remainingItemCount":%d`, next, c.objects-next)
	}
	b.WriteString(`},"items":[`)
	for i := start; i < end; i++ {
		if i > start {
			b.WriteByte(',')
		}
		c.write(&b, i)
	}
	b.WriteString("]}\n")
	return b.Bytes(), next
}

func (c corpus) write(b *bytes.Buffer, i int) {
	shape := i
	if c.shapes > 0 {
		shape = i % c.shapes
	}
	entries := podEntries
	name := fmt.Sprintf("web-%06d-7d5c9b4f6d-x%04x", i, i&0xffff)
	if c.small {
		entries = podEntries[1:2]
	} else if !c.pods {
		entries = deploymentEntries[:3+i%3]
		name = fmt.Sprintf("web-%06d", i)
	}
	fmt.Fprintf(b, `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":%q,"namespace":"team-%d",`+
		`"uid":"8f0e1f0a-9c61-4e07-8f3a-%012x","resourceVersion":"%d","generation":3,"creationTimestamp":"2026-03-02T08:11:05Z",`+
		`"labels":{"app":"web-%06d","pod-template-hash":"7d5c9b4f6d","team":"team-%d"},`+
		`"annotations":{"deployment.kubernetes.io/revision":"3","example.com/owner":"team-%d"},"managedFields":[`,
		name, i%40, i, 1000+i, i, i%40, i%40)
	own := strings.NewReplacer("$N", fmt.Sprintf("%06d", shape))
	for j, entry := range entries {
		if j > 0 {
			b.WriteByte(',')
		}
		_, _ = own.WriteString(b, entry)
	}
	b.WriteString("]}}")
}

func updateEntry(manager, apiVersion, subresource, fields string) string {
	if subresource != "" {
		subresource = `,"subresource":"` + subresource + `"`
	}
	return fmt.Sprintf(`{"manager":%q,"operation":"Update","apiVersion":%q,"time":"2026-03-02T08:11:09Z","fieldsType":"FieldsV1","fieldsV1":%s%s}`,
		manager, apiVersion, fields, subresource)
}

var deploymentEntries = []string{
	strings.Replace(updateEntry("argocd-controller", "apps/v1", "", `{"f:metadata":{"f:annotations":{"f:example.com/owner":{}},`+
		`"f:labels":{"f:app":{},"f:team":{},"f:example.com/l-$N":{}}},"f:spec":{"f:progressDeadlineSeconds":{},"f:revisionHistoryLimit":{},`+
		`"f:selector":{},"f:strategy":{"f:rollingUpdate":{"f:maxSurge":{},"f:maxUnavailable":{}},"f:type":{}},`+
		`"f:template":{"f:metadata":{"f:labels":{"f:app":{},"f:team":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":{".":{},`+
		`"f:env":{"k:{\"name\":\"DATABASE_$N\"}":{".":{},"f:name":{},"f:value":{}},"k:{\"name\":\"QUEUE_$N\"}":{".":{},"f:name":{},"f:value":{}},`+
		`"k:{\"name\":\"TOKEN_$N\"}":{".":{},"f:name":{},"f:valueFrom":{"f:secretKeyRef":{}}}},`+
		`"f:image":{},"f:imagePullPolicy":{},"f:livenessProbe":{"f:httpGet":{"f:path":{},"f:port":{}},"f:periodSeconds":{}},"f:name":{},`+
		`"f:ports":{"k:{\"containerPort\":8080,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{},"f:name":{}}},`+
		`"f:resources":{"f:limits":{"f:cpu":{},"f:memory":{}},"f:requests":{"f:cpu":{},"f:memory":{}}},`+
		`"f:volumeMounts":{"k:{\"mountPath\":\"/data/$N\"}":{".":{},"f:mountPath":{},"f:name":{}}}}},`+
		`"f:serviceAccountName":{},"f:volumes":{"k:{\"name\":\"data-$N\"}":{".":{},"f:emptyDir":{},"f:name":{}}}}}}}`), "Update", "Apply", 1),
	updateEntry("kube-controller-manager", "apps/v1", "status", `{"f:metadata":{"f:annotations":{".":{},"f:deployment.kubernetes.io/revision":{}}},`+
		`"f:status":{"f:availableReplicas":{},"f:conditions":{".":{},"k:{\"type\":\"Available\"}":{".":{},"f:lastTransitionTime":{},"f:lastUpdateTime":{},`+
		`"f:message":{},"f:reason":{},"f:status":{},"f:type":{}},"k:{\"type\":\"Check$N\"}":{".":{},"f:lastTransitionTime":{},"f:lastUpdateTime":{},`+
		`"f:message":{},"f:reason":{},"f:status":{},"f:type":{}}},"f:observedGeneration":{},"f:readyReplicas":{},"f:replicas":{},"f:updatedReplicas":{}}}`),
	updateEntry("kubectl-client-side-apply", "apps/v1", "", `{"f:metadata":{"f:annotations":{".":{},"f:kubectl.kubernetes.io/last-applied-configuration":{}},`+
		`"f:labels":{".":{},"f:app":{},"f:example.com/l-$N":{}}},"f:spec":{"f:selector":{},"f:strategy":{"f:type":{}},"f:template":{"f:metadata":{"f:labels":{".":{},"f:app":{}}},`+
		`"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":{".":{},"f:env":{".":{},"k:{\"name\":\"DATABASE_$N\"}":{".":{},"f:name":{},"f:value":{}}},"f:image":{},"f:name":{},`+
		`"f:terminationMessagePath":{},"f:terminationMessagePolicy":{}}},"f:dnsPolicy":{},"f:restartPolicy":{},"f:schedulerName":{},"f:securityContext":{},`+
		`"f:terminationGracePeriodSeconds":{}}}}}`),
	updateEntry("kube-controller-manager", "apps/v1", "scale", `{"f:spec":{"f:replicas":{}}}`),
	strings.Replace(updateEntry("sidecar-injector", "apps/v1", "", `{"f:spec":{"f:template":{"f:metadata":{"f:annotations":{"f:sidecar.example.com/status-$N":{}}},`+
		`"f:spec":{"f:containers":{"k:{\"name\":\"proxy\"}":{".":{},"f:args":{},"f:image":{},"f:name":{},"f:resources":{"f:requests":{"f:cpu":{},"f:memory":{}}}}},`+
		`"f:volumes":{"k:{\"name\":\"proxy-$N\"}":{".":{},"f:configMap":{"f:name":{}},"f:name":{}}}}}}}`), "Update", "Apply", 1),
}

var podEntries = []string{
	updateEntry("kube-controller-manager", "v1", "", `{"f:metadata":{"f:annotations":{".":{},"f:example.com/owner":{}},"f:generateName":{},"f:labels":{".":{},"f:app":{},`+
		`"f:pod-template-hash":{},"f:team":{}},"f:ownerReferences":{".":{},"k:{\"uid\":\"8f0e1f0a-9c61-4e07-8f3a-000000$N\"}":{}}},"f:spec":{"f:containers":{`+
		`"k:{\"name\":\"web\"}":{".":{},"f:env":{".":{},"k:{\"name\":\"DATABASE_$N\"}":{".":{},"f:name":{},"f:value":{}},"k:{\"name\":\"QUEUE_$N\"}":{".":{},"f:name":{},"f:value":{}}},`+
		`"f:image":{},"f:imagePullPolicy":{},"f:name":{},"f:ports":{".":{},"k:{\"containerPort\":8080,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{},"f:name":{},"f:protocol":{}}},`+
		`"f:resources":{".":{},"f:limits":{".":{},"f:cpu":{},"f:memory":{}},"f:requests":{".":{},"f:cpu":{},"f:memory":{}}},"f:terminationMessagePath":{},`+
		`"f:terminationMessagePolicy":{},"f:volumeMounts":{".":{},"k:{\"mountPath\":\"/data/$N\"}":{".":{},"f:mountPath":{},"f:name":{}}}}},"f:dnsPolicy":{},"f:enableServiceLinks":{},`+
		`"f:restartPolicy":{},"f:schedulerName":{},"f:securityContext":{},"f:serviceAccountName":{},"f:terminationGracePeriodSeconds":{},"f:volumes":{".":{},`+
		`"k:{\"name\":\"data-$N\"}":{".":{},"f:emptyDir":{},"f:name":{}}}}}`),
	updateEntry("cni-agent", "v1", "status", `{"f:metadata":{"f:annotations":{"f:cni.example.com/network-$N":{},"f:cni.example.com/podIP":{}}}}`),
	updateEntry("kubelet", "v1", "status", `{"f:status":{"f:conditions":{".":{},`+
		`"k:{\"type\":\"ContainersReady\"}":{".":{},"f:lastProbeTime":{},"f:lastTransitionTime":{},"f:status":{},"f:type":{}},`+
		`"k:{\"type\":\"PodScheduled\"}":{".":{},"f:lastProbeTime":{},"f:lastTransitionTime":{},"f:status":{},"f:type":{}},`+
		`"k:{\"type\":\"Ready\"}":{".":{},"f:lastProbeTime":{},"f:lastTransitionTime":{},"f:status":{},"f:type":{}},`+
		`"k:{\"type\":\"Gate$N\"}":{".":{},"f:lastProbeTime":{},"f:lastTransitionTime":{},"f:status":{},"f:type":{}}},"f:containerStatuses":{},"f:hostIP":{},"f:hostIPs":{},"f:phase":{},`+
		`"f:podIP":{},"f:podIPs":{".":{},"k:{\"ip\":\"10.$N\"}":{".":{},"f:ip":{}}},"f:startTime":{}}}`),
}
