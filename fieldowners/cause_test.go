package fieldowners_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/fieldowners"
)

// The formats are those of k8s.io/apimachinery/pkg/util/managedfields/internal/conflict.go.
func TestParseCause(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	apply := fieldowners.Manager{Name: "m", Operation: metav1.ManagedFieldsOperationApply}
	update := fieldowners.Manager{Name: "m", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "apps/v1"}
	with := func(m fieldowners.Manager, change func(*fieldowners.Manager)) fieldowners.Manager {
		change(&m)
		return m
	}
	for message, want := range map[string]fieldowners.Manager{
		`conflict with "m"`:                                       apply,
		`conflict with "m" with subresource "status"`:             with(apply, func(m *fieldowners.Manager) { m.Subresource = "status" }),
		`conflict with "m" using apps/v1`:                         update,
		`conflict with "m" using apps/v1 at not-a-time`:           update,
		`conflict with "m" using apps/v1 at `:                     update,
		`conflict with "m" using apps/v1 2026-01-02T03:04:05Z`:    update,
		`conflict with "m" using v1`:                              with(update, func(m *fieldowners.Manager) { m.APIVersion = "v1" }),
		`conflict with "m" using apps/v1 at 2026-01-02T03:04:05Z`: with(update, func(m *fieldowners.Manager) { m.Time = at }),
		`conflict with "m" with subresource "scale" using apps/v1 at 2026-01-02T03:04:05Z`: with(update,
			func(m *fieldowners.Manager) { m.Subresource, m.Time = "scale", at }),
		`conflict with "a \"b\" using v1 at \\ "`: with(apply, func(m *fieldowners.Manager) { m.Name = `a "b" using v1 at \ ` }),
		`conflict with "naïve \u200b 名"`:          with(apply, func(m *fieldowners.Manager) { m.Name = "naïve \u200b 名" }),
		`conflict with ""`:                        with(apply, func(m *fieldowners.Manager) { m.Name = "" }),
	} {
		got, err := fieldowners.ParseCause(message)
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", message, got, err, want)
		}
	}
}

func TestParseCauseRefuses(t *testing.T) {
	for _, message := range []string{
		"", "conflict", "conflict with ", `conflict with m`, `conflict with "m`, `conflict with 'm'`, "conflict with `m`",
		`conflict with "\q"`, `conflict with "m" with subresource status`, `conflict with "m" with subresource "`,
		`conflicts with "m"`,
	} {
		if got, err := fieldowners.ParseCause(message); err == nil || got != (fieldowners.Manager{}) {
			t.Errorf("%q gave %+v, %v", message, got, err)
		} else if tells := strings.Contains(err.Error(), "names no manager"); tells == strings.HasPrefix(message, "conflict with ") {
			t.Errorf("%q: %v", message, err)
		} else if strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: more than one line: %v", message, err)
		}
	}
}

func FuzzParseCause(f *testing.F) {
	f.Add("hpa", "scale", "apps/v1", int64(0))
	f.Add(`a "b" at`, "", "", int64(1))
	f.Add("名\x00\xff using v1", `"`, "v1", int64(-1))
	f.Fuzz(func(t *testing.T, name, subresource, apiVersion string, seconds int64) {
		_, _ = fieldowners.ParseCause(name) // whatever it is, no panic
		_, _ = fieldowners.ParseCause("conflict with " + name)
		if strings.ContainsAny(apiVersion, " ") { // none has
			return
		}
		message := fmt.Sprintf("conflict with %q", name)
		want := fieldowners.Manager{Name: name, Subresource: subresource, Operation: metav1.ManagedFieldsOperationApply}
		if subresource != "" {
			message += fmt.Sprintf(" with subresource %q", subresource)
		}
		if apiVersion != "" {
			want.Operation, want.APIVersion = metav1.ManagedFieldsOperationUpdate, apiVersion
			message += " using " + apiVersion
			want.Time = time.Unix(seconds%1e10, 0).UTC()
			message += " at " + want.Time.Format(time.RFC3339)
			if parsed, err := time.Parse(time.RFC3339, want.Time.Format(time.RFC3339)); err != nil {
				want.Time = time.Time{} // years beyond four digits do not parse
			} else {
				want.Time = parsed
			}
		}
		got, err := fieldowners.ParseCause(message)
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", message, got, err, want)
		}
	})
}
