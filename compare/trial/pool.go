package trial

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"coapply.dev/compare"
	"coapply.dev/compare/results"
)

// Pool manages the child processes that run writers. Each child runs this same program. Children start when a trial
// first needs them, and later trials use them again. They end at Close, or when this process ends and their input is
// closed. The zero Pool is ready to use.
type Pool struct {
	children []*child
}

type child struct {
	command *exec.Cmd
	in      io.WriteCloser
	answers chan answer // closed when the child has ended

	mu     sync.Mutex
	orders *json.Encoder
}

// endBound is the time that a child has to end after its input has ended.
const endBound = 5 * time.Second

// take returns n running children, and starts new ones if necessary.
func (p *Pool) take(n int) ([]*child, error) {
	for len(p.children) < n {
		c, err := startChild()
		if err != nil {
			return nil, fmt.Errorf("starting a writer process: %w", err)
		}
		p.children = append(p.children, c)
	}
	return p.children[:n], nil
}

// Close ends all children and waits until they have ended.
func (p *Pool) Close() error {
	var trouble []error
	for _, c := range p.children {
		trouble = append(trouble, c.close())
	}
	p.children = nil
	return errors.Join(trouble...)
}

func startChild() (*child, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	command := exec.Command(program, Command)
	command.Stderr, command.WaitDelay = os.Stderr, endBound
	in, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	c := &child{command: command, in: in, answers: make(chan answer), orders: json.NewEncoder(in)}
	go c.listen(out)
	return c, nil
}

func (c *child) listen(out io.Reader) {
	defer close(c.answers)
	for lines := json.NewDecoder(out); ; {
		var a answer
		if lines.Decode(&a) != nil {
			return
		}
		c.answers <- a
	}
}

func (c *child) order(o order) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.orders.Encode(o)
}

// answer waits for the next answer of the child. It returns an error if the child failed or ended, or if ctx ends first.
func (c *child) answer(ctx context.Context) (answer, error) {
	select {
	case a, more := <-c.answers:
		switch {
		case !more:
			return a, errors.New("a writer process ended before it reported a result")
		case a.Error != "":
			return a, errors.New(a.Error)
		}
		return a, nil
	case <-ctx.Done():
		return answer{}, fmt.Errorf("a writer process does not respond: %w", context.Cause(ctx))
	}
}

func (c *child) close() error {
	_ = c.in.Close() // the child ends when its input ends
	killed := time.AfterFunc(endBound, func() { _ = c.command.Process.Kill() })
	defer killed.Stop()
	for range c.answers { // discard the remaining answers
	}
	return c.command.Wait()
}

// spread assigns each process its part of the trial. The processes then wait for the start. If spread fails, the state of
// the processes is unknown. Therefore spread ends all processes, and the next trial starts new ones.
func (t *trial) spread(ctx context.Context) error {
	err := t.assign(ctx)
	if err != nil {
		err = errors.Join(err, t.Pool.Close())
	}
	return err
}

func (t *trial) assign(ctx context.Context) error {
	user := rest.CopyConfig(t.place.user)
	if err := rest.LoadTLSFiles(user); err != nil {
		return fmt.Errorf("reading the API server's certificate: %w", err)
	}
	var err error
	if t.children, err = t.Pool.take(t.Cell.Processes); err != nil {
		return err
	}
	for i, c := range t.children {
		if err := c.order(order{Trial: &assignment{
			Host: user.Host, Token: user.BearerToken, TLS: user.TLSClientConfig, Namespace: t.place.namespace, Prefix: t.prefix(),
			Cell: t.Cell, Arm: t.Arm.Name, Seed: t.Seed, Cached: t.Cached, Process: i, Began: t.log.began,
		}}); err != nil {
			return fmt.Errorf("a writer process ended before the trial started: %w", err)
		}
	}
	for _, c := range t.children {
		if _, err := c.answer(ctx); err != nil {
			return err
		}
	}
	return nil
}

// barrier is the time between the start order and the start of the writers. All processes must receive the order within this time.
const barrier = 50 * time.Millisecond

// release orders all processes to start at the same time in the near future, and waits until then.
func (t *trial) release(ctx context.Context) error {
	at := time.Now().Add(barrier)
	for _, c := range t.children {
		if err := c.order(order{Start: &at}); err != nil {
			return errors.Join(fmt.Errorf("a writer process ended before the trial started: %w", err), t.Pool.Close())
		}
	}
	_ = sleep(ctx, time.Until(at)) // the writers notice the end of ctx
	return nil
}

// gather implements the type writing for a trial with child processes. It waits for the results of all children. The
// writers of a child end when they have no more intents, or when the context open ends.
func (t *trial) gather(open, inflight context.Context, stop func(error)) {
	stopped := context.AfterFunc(open, func() {
		for _, c := range t.children {
			_ = c.order(order{Stop: true}) // if the child has ended, its missing answer is noticed below
		}
	})
	defer stopped()
	waiting, cancel := context.WithCancelCause(context.WithoutCancel(inflight))
	defer cancel(nil)
	late := context.AfterFunc(inflight, func() {
		_ = sleep(waiting, endBound)
		cancel(context.Cause(inflight))
	})
	defer late()
	t.log.arrivals = nil
	if t.Cell.Rate > 0 {
		t.log.arrivals = &arrivals{}
	}
	for _, c := range t.children {
		a, err := c.answer(waiting)
		if a.Part != nil {
			t.merge(*a.Part)
		}
		if err != nil {
			t.lost = errors.Join(t.lost, err)
			stop(errBeside)
		}
	}
	if len(t.parts) < len(t.children) {
		t.lost = errors.Join(t.lost, t.Pool.Close())
	}
	if t.log.arrivals != nil {
		slices.Sort(t.log.arrivals.times)
	}
}

// merge adds the results of one process to those of the trial.
func (t *trial) merge(p part) {
	for i, w := range p.Writers {
		t.log.writers[i] = w
	}
	if t.log.arrivals != nil {
		t.log.arrivals.times = append(t.log.arrivals.times, p.Arrivals...)
		t.log.left = append(t.log.left, p.Left...)
	}
	t.parts = append(t.parts, p.Client)
}

// order is a message to a process that runs writers, as one line of JSON. Exactly one of its fields is set.
type order struct {
	Trial *assignment `json:",omitempty"`
	// Start is the time at which all processes of the trial must begin.
	Start *time.Time `json:",omitempty"`
	// Stop means that no new intents may begin.
	Stop bool `json:",omitempty"`
}

// assignment describes a trial to one of its processes.
type assignment struct {
	Host, Token string
	TLS         rest.TLSClientConfig

	Namespace, Prefix string
	Cell              compare.Cell
	Arm               string
	Seed              uint64
	Cached            bool
	Process           int
	Began             time.Time // the beginning of the trial, to which all times are relative
}

// answer is a message from a process that runs writers. It reports that the process is ready, or it contains the results.
type answer struct {
	// Error is the reason why the trial is void. It is "" if the trial is not void.
	Error string `json:",omitempty"`
	Part  *part  `json:",omitempty"`
}

// part is the result of the writers in one process.
type part struct {
	Writers map[int]*writerLog // by the number of the writer
	Client  results.Client
	// Arrivals are the arrivals of an open loop in this process, and Left those that no writer has started.
	Arrivals, Left []time.Duration
}
