package apply_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"coapply.dev/apply"
	"coapply.dev/fieldowners"
)

// wiped is the deployment of ours when its replicas are the made-up owner's.
func wiped(resourceVersion string) *appsv1.Deployment {
	return ownersMadeUp(resourceVersion, `{"f:spec":{"f:replicas":{}}}`)
}

func ownersMadeUp(resourceVersion, fields string) *appsv1.Deployment {
	d := bornOurs("uid-1", resourceVersion)
	d.ManagedFields[0] = entry(fieldowners.BeforeFirstApply, "Update", "", fields)
	return d
}

// mended is the deployment of ours when its replicas are ours again.
func mended(resourceVersion string) *appsv1.Deployment {
	d := ownedWith("uid-1", resourceVersion, 3)
	d.Labels = bornOurs("", "").Labels
	return d
}

// claims is a contract of the test's manager.
func claims(paths ...string) apply.Contract {
	return apply.Contract{{Manager: manager, Kind: schema.GroupKind{Group: "apps", Kind: "Deployment"}, Applies: paths}}
}

// describeRewrite is describe for a write of managed fields, which is a JSON patch.
func describeRewrite(request *http.Request, patch []byte) (string, error) {
	sent, err := rewriteIn(patch)
	text := fmt.Sprintf("REWRITE uid=%s resourceVersion=%s", sent.UID, sent.ResourceVersion)
	query := request.URL.Query()
	if query.Get("dryRun") == metav1.DryRunAll {
		text += " dry run"
	}
	if got := query.Get("fieldManager"); got != manager {
		return text, fmt.Errorf("a rewrite by %s", got)
	}
	return text, err
}

// rewriteIn returns what a JSON patch replaces of an object's metadata.
func rewriteIn(patch []byte) (sent metav1.ObjectMeta, err error) {
	var operations []struct {
		Path  string
		Value any
	}
	if err := json.Unmarshal(patch, &operations); err != nil {
		return sent, err
	}
	metadata := map[string]any{}
	for _, o := range operations {
		metadata[strings.TrimPrefix(o.Path, "/metadata/")] = o.Value
	}
	raw, err := json.Marshal(metadata)
	if err != nil {
		return sent, err
	}
	err = json.Unmarshal(raw, &sent)
	return sent, err
}

// stores answers a rewrite with the object, of which the managed fields are those sent.
func stores(object *appsv1.Deployment) answer {
	return func(request *http.Request) (*http.Response, error) {
		body, err := request.GetBody()
		if err != nil {
			return nil, err
		}
		patch, err := io.ReadAll(body)
		if err != nil {
			return nil, err
		}
		sent, err := rewriteIn(patch)
		if err != nil {
			return nil, err
		}
		object.ManagedFields = sent.ManagedFields
		return ok(object)(request)
	}
}

// rewritten returns the entries of the last rewrite.
func (s *script) rewritten() (entries []string) {
	for _, body := range s.bodies {
		if sent, err := rewriteIn([]byte(body)); err == nil {
			entries = nil
			for _, e := range sent.ManagedFields {
				entries = append(entries, fmt.Sprintf("%s/%s %s", e.Manager, e.Operation, e.FieldsV1.GetRawString()))
			}
		}
	}
	return entries
}

const (
	rewriteAt7, rewriteAt8 = "REWRITE uid=uid-1 resourceVersion=7", "REWRITE uid=uid-1 resourceVersion=8"
	madeUpAt7              = "PATCH uid=uid-1 resourceVersion=7 by before-first-apply"
	toOurs                 = "PATCH uid=uid-1"
)

// TestTakeBack: the object in the cache, or a conflict, shows that managed fields were wiped.
func TestTakeBack(t *testing.T) {
	bare := ownersHidden(bornOurs("uid-1", "7"))
	read := func(d *appsv1.Deployment) step { return step{"GET", ok(d)} }
	stored, applied := step{rewriteAt7, stores(wiped("8"))}, step{toOurs, ok(mended("9"))}
	forbidden, busy := fail(apierrors.NewForbidden(deployments, "web", nil)), fail(apierrors.NewServiceUnavailable("no leader"))
	conflicts := []step{{toOurs, conflict(phantomReplicas)}, read(wiped("7"))}
	for name, c := range map[string]struct {
		cached *appsv1.Deployment // shows that replicas are lost, unless given
		uid    types.UID          // to which the caller pins the intent
		steps  []step
		action apply.Action
		err    error
		back   bool   // the replicas are taken back
		says   string // in the log
	}{
		"lost": {
			steps: []step{read(wiped("7")), stored, applied}, action: apply.Configured, back: true,
		},
		"no managed fields": {
			cached: bare, action: apply.Configured, back: true,
			steps: []step{read(bare), {madeUpAt7, ok(wiped("8"))}, {rewriteAt8, stores(wiped("9"))}, applied},
		},
		"overtaken": {
			steps:  []step{read(wiped("7")), {rewriteAt7, stale()}, read(wiped("8")), {rewriteAt8, stores(wiped("9"))}, applied},
			action: apply.Configured, back: true,
		},
		"overtaken before owners are made up": {
			cached: bare, action: apply.Configured, back: true,
			steps: []step{read(bare), {madeUpAt7, stale()}, read(wiped("8")), {rewriteAt8, stores(wiped("9"))}, applied},
		},
		"overtaken each time": {
			steps: slices.Repeat([]step{read(wiped("7")), {rewriteAt7, stale()}}, 8), err: apply.ErrContended,
		},
		"refused": {
			steps: []step{read(wiped("7")), {rewriteAt7, forbidden}, applied}, action: apply.Configured, says: "fields cannot be taken back",
		},
		"refused, of what conflicts": {
			steps: slices.Concat([]step{read(wiped("7")), {rewriteAt7, forbidden}}, conflicts, []step{read(wiped("7")), {rewriteAt7, forbidden}}),
			err:   apply.ErrConflict,
		},
		"owners cannot be made up": {
			cached: bare, steps: []step{read(bare), {madeUpAt7, forbidden}, applied}, action: apply.Configured, says: "fields cannot be taken back",
		},
		"not stored as sent": {
			steps: []step{read(wiped("7")), {rewriteAt7, ok(wiped("8"))}, applied}, action: apply.Configured,
		},
		"gone": {
			steps: []step{
				read(wiped("7")), {rewriteAt7, notFound()}, {toOurs, stale()}, {"GET", notFound()}, {"PATCH resourceVersion=1", created(mended("9"))},
			},
			action: apply.Created,
		},
		"recreated":                            {steps: []step{read(wiped("7")), {rewriteAt7, otherUID()}}, err: apply.ErrUIDMismatch},
		"no answer":                            {steps: []step{read(wiped("7")), {rewriteAt7, busy}}, err: apply.ErrRetryable},
		"cannot be read":                       {steps: []step{{"GET", busy}}, err: apply.ErrRetryable},
		"no answer of owners that are made up": {cached: bare, steps: []step{read(bare), {madeUpAt7, busy}}, err: apply.ErrRetryable},
		"somebody else's by now": {
			steps: []step{read(unlabelled(wiped("8"))), applied}, action: apply.Configured,
		},
		"read without uid": {
			steps: []step{read(ownersOf(wiped("7"), web("", "7"))), applied}, action: apply.Configured,
		},
		"read without resourceVersion": {
			steps: []step{read(ownersOf(wiped("7"), web("uid-1", ""))), applied}, action: apply.Configured,
		},
		"somebody else's in the cache": {
			cached: unlabelled(wiped("7")), steps: []step{read(web("uid-2", "7"))}, err: apply.ErrNotOurs,
		},
		"ours, and another object than in the cache": {
			steps: []step{
				read(ownersOf(wiped("7"), web("uid-2", "8"))), {"REWRITE uid=uid-2 resourceVersion=8", stores(ownersOf(wiped("7"), web("uid-2", "9")))},
				{toOurs, otherUID()}, read(ownersOf(mended("9"), web("uid-2", "9"))), {"PATCH uid=uid-2", ok(ownersOf(mended("9"), web("uid-2", "10")))},
			},
			action: apply.Configured, back: true,
		},
		"pinned by the caller": {
			uid: "uid-1", steps: []step{read(wiped("7")), stored, applied}, action: apply.Configured, back: true,
		},
		"pinned by the caller to another object": {
			uid: "uid-1", steps: []step{read(ownersOf(wiped("7"), web("uid-2", "8"))), {toOurs, otherUID()}}, err: apply.ErrUIDMismatch,
		},
		"lost meanwhile": {
			cached: mended("6"), action: apply.Configured, back: true,
			steps: slices.Concat(conflicts, []step{read(wiped("7")), stored, applied}),
		},
		"lost meanwhile, and mended by another process": {
			cached: mended("6"), action: apply.Configured,
			steps: slices.Concat(conflicts, []step{read(mended("8")), applied}),
		},
		"lost meanwhile, and gone": {
			cached: mended("6"), action: apply.Created,
			steps: slices.Concat(conflicts, []step{{"GET", notFound()}, {toOurs, stale()}, {"GET", notFound()}, {"PATCH resourceVersion=1", created(mended("9"))}}),
		},
		"lost meanwhile, and gone before the rewrite": {
			cached: mended("6"), steps: slices.Concat(conflicts, []step{read(wiped("7")), {rewriteAt7, notFound()}}), err: apply.ErrUIDMismatch,
		},
		"lost meanwhile, and owners cannot be made up": {
			cached: mended("6"), steps: slices.Concat(conflicts, []step{read(bare), {madeUpAt7, forbidden}}), err: apply.ErrConflict,
		},
		"lost meanwhile, and cannot be read": {
			cached: mended("6"), steps: slices.Concat(conflicts, []step{{"GET", forbidden}}), err: apply.ErrRefused,
		},
		"lost again": {
			steps: slices.Concat([]step{read(wiped("7")), stored}, conflicts), err: apply.ErrConflict, back: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if c.cached == nil {
					c.cached = wiped("7")
				}
				s := newScript(t, c.steps)
				a := s.applierOver(s.restConfig(true), apply.Config{Contract: claims(".spec.replicas")}, cache{object: c.cached})
				var log strings.Builder
				ctx := logr.NewContext(t.Context(), funcr.New(func(_, text string) { log.WriteString(text) }, funcr.Options{}))
				outcome, err := a.Apply(ctx, apply.Intent{Config: threeReplicas(), Belongs: isBornOurs, UID: c.uid})
				if !errors.Is(err, c.err) || c.err == nil && err != nil || outcome.Action != c.action || outcome.Requests != len(c.steps) {
					t.Errorf("%s by %d requests, %v; want %s, %v", outcome.Action, outcome.Requests, err, c.action, c.err)
				}
				if back := fmt.Sprint(outcome.TakenBack) == "[.spec.replicas]"; back != c.back || !back && len(outcome.TakenBack) > 0 {
					t.Errorf("taken back: %v", outcome.TakenBack)
				}
				if !strings.Contains(log.String(), c.says) {
					t.Errorf("the log says %s", log.String())
				}
				if !c.back {
					return
				}
				if !strings.Contains(log.String(), "took fields back") {
					t.Errorf("the log says %s", log.String())
				}
				want := []string{`coapply-test/Apply {"f:spec":{"f:replicas":{}}}`, `kubectl/Apply {"f:spec":{"f:paused":{}}}`}
				if diff := cmp.Diff(want, s.rewritten()); diff != "" {
					t.Errorf("managed fields sent (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// ownersOf is the object with the labels and managed fields of another one.
func ownersOf(from, object *appsv1.Deployment) *appsv1.Deployment {
	object.Labels, object.ManagedFields = from.Labels, from.ManagedFields
	return object
}

func unlabelled(object *appsv1.Deployment) *appsv1.Deployment {
	object.Labels = nil
	return object
}
