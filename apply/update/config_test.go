package update_test

import (
	"context"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply/update"
)

func TestConfig(t *testing.T) {
	s := newServer()
	for _, tc := range []struct {
		name   string
		change func(*update.Config)
		want   string // "" is valid
	}{
		{"valid", func(*update.Config) {}, ""},
		{"no client", func(c *update.Config) { c.Client = nil }, "Client: "},
		{"no live reader", func(c *update.Config) { c.LiveReader = nil }, "mgr.GetAPIReader()"},
		{"no field manager", func(c *update.Config) { c.FieldManager = "" }, "FieldManager: a name is needed"},
		{"long field manager", func(c *update.Config) { c.FieldManager = strings.Repeat("x", 129) }, "FieldManager: Too long"},
		{"unprintable field manager", func(c *update.Config) { c.FieldManager = "a\n" }, "FieldManager: Invalid"},
		{"no steps", func(c *update.Config) { c.Backoff = wait.Backoff{Duration: 1} }, "Backoff: Steps is 0"},
		{"negative wait", func(c *update.Config) { c.Backoff = fixed(-1, 2) }, "negative"},
		{"negative factor", func(c *update.Config) { c.Backoff = wait.Backoff{Steps: 2, Factor: -1} }, "negative"},
		{"negative jitter", func(c *update.Config) { c.Backoff = wait.Backoff{Steps: 2, Jitter: -1} }, "negative"},
		{"negative cap", func(c *update.Config) { c.Backoff = wait.Backoff{Steps: 2, Cap: -1} }, "negative"},
		{"several", func(c *update.Config) { *c = update.Config{} }, "Client: a client is needed\nLiveReader: "},
	} {
		t.Run(tc.name, func(t *testing.T) {
			config := update.Config{Client: s.client, LiveReader: s.client, FieldManager: "test"}
			tc.change(&config)
			u, err := update.New(config)
			switch {
			case tc.want == "" && (err != nil || u == nil):
				t.Errorf("error = %v", err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("error = %v, want %q in it", err, tc.want)
			}
		})
	}
}

func TestZeroBackoffIsDefault(t *testing.T) {
	s := newServer(pod())
	for range 12 {
		s.puts = append(s.puts, with(staleWrite()))
	}
	result, err := update.Do(t.Context(), s.updaterWith(t, wait.Backoff{}), cached(t, s, pod()), label)
	if err == nil || result.Attempts != update.Default.Steps {
		t.Errorf("%d attempts, %v", result.Attempts, err)
	}
}

// answersWith is a server whose admission puts a finalizer back.
type answersWith struct {
	client.Client

	finalizer string
	managed   []metav1.ManagedFieldsEntry
}

func (a answersWith) Update(ctx context.Context, o client.Object, opts ...client.UpdateOption) error {
	if err := a.Client.Update(ctx, o, opts...); err != nil {
		return err
	}
	o.SetFinalizers(append(o.GetFinalizers(), a.finalizer))
	o.SetManagedFields(a.managed)
	return nil
}
