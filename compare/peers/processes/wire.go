// Package processes lets the writers of a trial write from processes of their own, as controllers do that know nothing of
// each other. The trial, its watch and its oracle stay where they are: an intent goes to a child as a line of JSON, and
// what came of it comes back as one.
package processes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"coapply.dev/apply"
	"coapply.dev/compare"
	"coapply.dev/compare/history"
)

// Command is the hidden subcommand that a child is started with.
const Command = "writer"

// access is what a child needs to reach the API server.
type access struct {
	Host  string
	Token string
	CA    []byte
}

// order is a line to a child: one of its parts is set.
type order struct {
	Access *access `json:",omitempty"` // the first line
	Arm    string  `json:",omitempty"` // a new trial
	Intent *intent `json:",omitempty"`
	Cancel int     `json:",omitempty"` // the intent of that number
}

// intent is as much of compare.Intent as an arm that applies needs.
type intent struct {
	Number          int
	Within          time.Duration
	Kind            schema.GroupVersionKind
	Namespace, Name string
	Manager         string
	Config          map[string]any
}

func wired(number int, within time.Duration, i compare.Intent) *intent {
	return &intent{
		Number: number, Within: within, Kind: i.Kind, Namespace: i.Namespace, Name: i.Name, Manager: i.Manager,
		Config: i.Configure(nil),
	}
}

func (i *intent) unwired() compare.Intent {
	return compare.Intent{
		Kind: i.Kind, Namespace: i.Namespace, Name: i.Name, Manager: i.Manager,
		Configure: func(*unstructured.Unstructured) map[string]any { return maps.Clone(i.Config) },
		Modify: func(*unstructured.Unstructured) error {
			return errors.New("get-modify-update does not run in processes of its own")
		},
		Pause: func(context.Context) error { return nil },
	}
}

// answer is a line from a child.
type answer struct {
	Number   int
	Revision string          `json:",omitempty"`
	Skipped  bool            `json:",omitempty"`
	Outcome  history.Outcome `json:",omitempty"`
	Error    string          `json:",omitempty"`
}

// err is one that the trial classifies as the child did.
func (a answer) err() error {
	switch a.Outcome {
	case history.Landed:
		return nil
	case history.GaveUp:
		return fmt.Errorf("%s: %w", a.Error, apply.ErrContended)
	case history.Unknown:
		return fmt.Errorf("%s: %w", a.Error, io.ErrUnexpectedEOF)
	}
	return errors.New(a.Error)
}
