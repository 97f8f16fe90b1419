package faults

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/fieldowners"
)

type input struct {
	field, value string // a value of "" is a read
	maybe        bool   // a write that landed, or did not
}

// register is one field.
var register = (&porcupine.NondeterministicModel{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		byField := map[string][]porcupine.Operation{}
		for _, operation := range history {
			field := operation.Input.(input).field
			byField[field] = append(byField[field], operation)
		}
		return slices.Collect(maps.Values(byField))
	},
	Init: func() []any { return []any{""} },
	Step: func(state, in, out any) []any {
		switch in := in.(input); {
		case in.maybe:
			return []any{state, in.value}
		case in.value != "":
			return []any{in.value}
		case out == state:
			return []any{state}
		}
		return nil
	},
}).ToModel()

func (r *run) judge() {
	r.tally.mu.Lock()
	r.tally.operations += len(r.history)
	r.tally.mu.Unlock()
	if result := porcupine.CheckOperationsTimeout(register, r.history, 10*time.Second); result != porcupine.Ok {
		var text strings.Builder
		for _, o := range r.history {
			fmt.Fprintf(&text, "%d: %+v -> %q at %d to %d\n", o.ClientId, o.Input, o.Output, o.Call, o.Return)
		}
		r.Errorf("%s: the history is no register's (%s):\n%s", r.name, result, text.String())
	}
	var object corev1.ConfigMap
	if err := r.client.Get(r.Context(), client.ObjectKey{Namespace: r.namespace, Name: r.name}, &object); client.IgnoreNotFound(err) != nil {
		r.Error(err)
	}
	ownership, err := fieldowners.Parse(object.ManagedFields)
	if err != nil {
		r.Error(err)
	}
	for i := range appliers {
		field := fmt.Sprint("writer-", i)
		for _, owner := range ownership.OwnersOf(fieldowners.MustParsePath(".data." + field)) {
			if owner.Name != field {
				r.Errorf("%s: %s is owned by %s", r.name, field, owner)
			}
		}
	}
}
