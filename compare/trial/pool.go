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

// Pool is the processes that writers are spread over: children of this very program. They are started when a trial first
// needs them, serve one trial after the other, and end with Close, or with this process, as their orders end then. The
// zero Pool is ready.
type Pool struct {
	children []*child
}

// child is one process of writers.
type child struct {
	command *exec.Cmd
	in      io.WriteCloser
	answers chan answer // closed when there are no more

	mu     sync.Mutex
	orders *json.Encoder
}

// endBound is how long a child may take to end when its orders have.
const endBound = 5 * time.Second

// take returns n children that run.
func (p *Pool) take(n int) ([]*child, error) {
	for len(p.children) < n {
		c, err := startChild()
		if err != nil {
			return nil, fmt.Errorf("starting a process of writers: %w", err)
		}
		p.children = append(p.children, c)
	}
	return p.children[:n], nil
}

// Close returns when all children have ended.
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

// answer waits for the next one until the context ends.
func (c *child) answer(ctx context.Context) (answer, error) {
	select {
	case a, more := <-c.answers:
		switch {
		case !more:
			return a, errors.New("a process of writers has ended")
		case a.Error != "":
			return a, errors.New(a.Error)
		}
		return a, nil
	case <-ctx.Done():
		return answer{}, fmt.Errorf("a process of writers does not answer: %w", context.Cause(ctx))
	}
}

func (c *child) close() error {
	_ = c.in.Close() // it ends by that
	killed := time.AfterFunc(endBound, func() { _ = c.command.Process.Kill() })
	defer killed.Stop()
	for range c.answers { // nobody waits for these
	}
	return c.command.Wait()
}

// spread hands each process its part of the trial; they wait for the start. After a failure nobody knows which of them wait
// for what: the next trial has others.
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
			Cell: t.Cell, Arm: t.Arm.Name, Seed: t.Seed, Process: i, Began: t.log.began,
		}}); err != nil {
			return fmt.Errorf("a process of writers has ended: %w", err)
		}
	}
	for _, c := range t.children {
		if _, err := c.answer(ctx); err != nil {
			return err
		}
	}
	return nil
}

// barrier is how long after the order all processes begin, so that each has heard of it.
const barrier = 50 * time.Millisecond

// release returns when the processes begin.
func (t *trial) release(ctx context.Context) error {
	at := time.Now().Add(barrier)
	for _, c := range t.children {
		if err := c.order(order{Start: &at}); err != nil {
			return errors.Join(fmt.Errorf("a process of writers has ended: %w", err), t.Pool.Close())
		}
	}
	_ = sleep(ctx, time.Until(at)) // the writers look at the context
	return nil
}

// gather waits for what the processes came to. They end by themselves, or when open does.
func (t *trial) gather(open, inflight context.Context, stop func(error)) {
	stopped := context.AfterFunc(open, func() {
		for _, c := range t.children {
			_ = c.order(order{Stop: true}) // one that has ended is found out below
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

// merge adds what one process came to.
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
