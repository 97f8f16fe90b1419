package scale

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"k8s.io/client-go/rest"
)

// mode is what a process does.
type mode string

const (
	cacheAlone mode = "the cache alone"
	byHand     mode = "reconcilers written by hand"
	applying   mode = "reconcilers of coapply.For"
)

// order is the first thing that a process is told. The next is an empty line, to measure from now, and the end of its
// input, to measure until now.
type order struct {
	Mode            mode
	Objects         int
	Namespace, Host string
	TLS             rest.TLSClientConfig
	BearerToken     string
}

// report is the second thing that a process says. The first is an empty line: each object was reconciled by each
// manager, if any.
type report struct {
	StartWrites int
	StartTook   time.Duration
	CPU, Took   time.Duration // of the window
	Heap, RSS   int64
	Reconciles  int // in the window
	Writes      int // in the window

	others int // writes of others in the window
}

func (r report) share() float64 { return r.CPU.Seconds() / r.Took.Seconds() }

// settle is how long a process is left alone between its start and the window.
const settle = 5 * time.Second

// observe has a process measured for a window.
func (s *seed) observe(ctx context.Context, config *rest.Config, l load, window time.Duration) (measured report, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the process, too
	process, err := startProcess(ctx)
	if err != nil {
		return report{}, err
	}
	defer func() { err = errors.Join(err, process.end()) }()
	told := order{l.mode, s.objects, s.namespace, config.Host, config.TLSClientConfig, config.BearerToken}
	if err := process.tell(told); err != nil {
		return report{}, err
	}
	if err := process.hear(&struct{}{}); err != nil {
		return report{}, err
	}
	time.Sleep(settle)
	if err := process.tell(struct{}{}); err != nil {
		return report{}, err
	}
	written, err := s.write(ctx, l.writes, window)
	if err != nil {
		return report{}, err
	}
	if err := process.in.Close(); err != nil {
		return report{}, err
	}
	err = process.hear(&measured)
	measured.others = written
	return measured, err
}

// process is this program, started again.
type process struct {
	*exec.Cmd

	in  io.WriteCloser
	out *json.Decoder
}

const variable = "COAPPLY_PEERS_SCALE_PROCESS"

func startProcess(ctx context.Context) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &process{Cmd: exec.CommandContext(ctx, self)}
	p.Env, p.Stderr = append(os.Environ(), variable+"=1"), os.Stderr
	if p.in, err = p.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = json.NewDecoder(out)
	if err := p.Start(); err != nil {
		return nil, err
	}
	return p, nil
}

func (p *process) tell(what any) error { return json.NewEncoder(p.in).Encode(what) }

func (p *process) hear(into any) error {
	if err := p.out.Decode(into); err != nil {
		return fmt.Errorf("it said nothing: %w", err)
	}
	return nil
}

// end waits for what ends when its input does.
func (p *process) end() error {
	_ = p.in.Close()
	return p.Wait()
}
