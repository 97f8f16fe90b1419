package apply_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"coapply.dev/apply"
)

const (
	ourPassword   = "our-password"
	theirPassword = "their-password"
)

func TestSecretValuesAreNotShown(t *testing.T) {
	kind, resource := schema.GroupKind{Kind: "Secret"}, corev1.Resource("secrets")
	invalid := field.Invalid(field.NewPath("data").Key("password"), ourPassword, "is too weak: "+ourPassword)
	for name, test := range map[string]struct {
		policy  apply.Policy
		happens func(*world)
		sent    int
		says    string // what the error still tells
	}{
		"rejected": {sent: 2, says: ".data.password to (hidden): owned by vault/Update with value (hidden)"},
		"forced":   {policy: force, sent: 4},
		"invalid": {
			happens: always(apierrors.NewInvalid(kind, "web", field.ErrorList{invalid})), sent: 1,
			says: "HTTP 422 Invalid data[password] (the API server's message is hidden",
		},
		"wrong type": {
			happens: always(status500("failed to create typed patch object (shop/web; /v1, Kind=Secret): .data.password: expected string, got &{" + ourPassword + "}")),
			sent:    1, says: "HTTP 500 failed to create typed patch object (the API server's message is hidden",
		},
		"webhook": {happens: always(apierrors.NewInternalError(errors.New(ourPassword))), sent: 3, says: "HTTP 500 InternalError"},
		"forbidden": {
			happens: always(apierrors.NewForbidden(resource, "web", errors.New("no permission"))), sent: 1, says: "no permission",
		},
		"denied": {
			happens: always(apierrors.NewForbidden(resource, "web",
				errors.New(`admission webhook "policy.example.com" denied the request: `+ourPassword+` is too weak`))), sent: 1,
			says: `HTTP 403 Forbidden admission webhook "policy.example.com" denied the request (the API server's message is hidden`,
		},
		"gone": {happens: breaks(http.ErrHandlerTimeout), sent: 3, says: "http: Handler timeout"},
	} {
		t.Run(name, func(t *testing.T) {
			// client-go itself logs bodies, at levels above 5 and whatever they hold.
			var log strings.Builder
			ctx := logr.NewContext(t.Context(), funcr.New(func(prefix, args string) {
				fmt.Fprintln(&log, prefix, args)
			}, funcr.Options{Verbosity: 5}))
			w := newEmptyWorld(t)
			w.secretOf(map[string]string{"password": theirPassword})
			if test.happens != nil {
				test.happens(w)
			}
			text, err := applySecret(ctx, w.applier(test.policy))
			if w.Sent() != test.sent {
				t.Errorf("%d requests, want %d", w.Sent(), test.sent)
			}
			for _, value := range []string{ourPassword, theirPassword, "b3VyLXBhc3N3b3Jk", "dGhlaXItcGFzc3dvcmQ="} {
				if strings.Contains(text, value) || strings.Contains(log.String(), value) {
					t.Errorf("%s is in\n%s\n%s", value, text, log.String())
				}
			}
			if !strings.Contains(text, test.says) || log.Len() == 0 || (test.says == "") != (err == nil) {
				t.Errorf("%s\nwant it to say %q", text, test.says)
			}
		})
	}
}

// A policy's function may print what it is asked.
func TestSecretValuesAreNotAskedFor(t *testing.T) {
	asked := ""
	policy := apply.Policy{}.Func(func(c apply.Conflict) (apply.Decision, bool) {
		asked += fmt.Sprintf("%v %+v", c, c)
		return apply.Reject, true
	})
	w := newEmptyWorld(t)
	w.secretOf(map[string]string{"password": theirPassword})
	_, err := applySecret(t.Context(), w.applier(policy))
	if !errors.Is(err, apply.ErrConflict) || !strings.Contains(asked, "(hidden)") || strings.Contains(asked, "dGhlaXItcGFzc3dvcmQ=") {
		t.Errorf("%v, asked %s", err, asked)
	}
}

// applySecret gives all that an Apply returns as text, with each wrapped error.
func applySecret(ctx context.Context, applier *apply.Applier) (string, error) {
	config := corev1ac.Secret("web", "shop").WithData(map[string][]byte{"password": []byte(ourPassword)})
	outcome, err := applier.Apply(ctx, apply.Intent{Config: config})
	text := fmt.Sprintf("%v %+v %#v\n%v %+v\n", outcome, outcome, outcome, err, err)
	conflict := (*apply.ConflictError)(nil)
	if errors.As(err, &conflict) {
		text += fmt.Sprintf("%#v %+v\n", *conflict, conflict.Conflicts)
	}
	answer := (*apierrors.StatusError)(nil)
	if errors.As(err, &answer) {
		text += fmt.Sprintf("%+v", answer.ErrStatus)
	}
	return text, err
}
