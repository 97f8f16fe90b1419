package trial

import (
	"time"

	"k8s.io/client-go/rest"

	"coapply.dev/compare"
	"coapply.dev/compare/results"
)

// order is a line to a process of writers; one of its parts is set.
type order struct {
	Trial *assignment `json:",omitempty"`
	// Start is when all processes of the trial begin.
	Start *time.Time `json:",omitempty"`
	// Stop has no new intents begin.
	Stop bool `json:",omitempty"`
}

// assignment is a trial as one of its processes needs it.
type assignment struct {
	Host, Token string
	TLS         rest.TLSClientConfig

	Namespace, Prefix string
	Cell              compare.Cell
	Arm               string
	Seed              uint64
	Process           int
	Began             time.Time // what all times are since
}

// answer is a line from a process of writers: that it is ready, or what its writers came to.
type answer struct {
	// Error makes the trial void.
	Error string `json:",omitempty"`
	Part  *part  `json:",omitempty"`
}

// part is what the writers of one process came to.
type part struct {
	Writers map[int]*writerLog // by their numbers
	Client  results.Client
	// Arrivals of an open loop at this process, and those of them that no writer began.
	Arrivals, Left []time.Duration
}
