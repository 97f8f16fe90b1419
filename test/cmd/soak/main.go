// Command soak runs for a given time what make test leaves out: all tests with the race detector and new seeds, many
// random cases, and whatever takes minutes or a control plane of its own. It runs the steps in a random order, again
// and again with new seeds. At the end of the time, it ends the running step, which does not count as failed.
//
//	go run ./test/cmd/soak -for 10m -race
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"coapply.dev/test/kit"
)

// enoughToBuild is the minimum duration of a soak that includes the steps with slow builds, such as of another version
// of the control plane. A slow build takes minutes, in addition to the soak's duration.
const enoughToBuild = 10 * time.Minute

func main() { os.Exit(run()) }

func run() int {
	patience := flag.Duration("for", 10*time.Minute, "how long to run steps")
	given := flag.String("seed", "", "seed of an earlier run, to repeat the run; default: a new seed")
	race := flag.Bool("race", false, "run tests with the race detector")
	only := flag.String("step", "", "run only this step, once")
	flag.Parse()
	chosen := slices.DeleteFunc(slices.Clone(steps), func(s step) bool {
		if *only == "" {
			return s.builds() && *patience < enoughToBuild
		}
		return s.name != *only
	})
	if len(chosen) == 0 {
		fmt.Fprintf(os.Stderr, "soak: no step is called %q; there are %q\n", *only, names(steps))
		return 2
	}
	seed := rand.Uint64() >> 1
	if *given != "" {
		if _, err := fmt.Sscan(*given, &seed); err != nil {
			fmt.Fprintln(os.Stderr, "soak: -seed:", err)
			return 2
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	defer kit.StopAll()
	if err := soak(ctx, chosen, *patience, seed, *race); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		return 1
	}
	return 0
}

// soak builds and starts what the steps share, and then runs steps for the duration patience. The time in which a
// single step builds something is not counted. If only one step is given, it runs once.
func soak(ctx context.Context, steps []step, patience time.Duration, seed uint64, race bool) error {
	if packages := packagesOf(steps); len(packages) > 0 {
		build := step{arguments: append([]string{"-run", "^$"}, packages...)}
		if err := build.run(ctx, race, nil); err != nil {
			return err
		}
	}
	shared, err := kit.Share(ctx)
	if err != nil {
		return err
	}
	end := time.Now().Add(patience)
	var failed error
	for once := len(steps) == 1; ctx.Err() == nil && time.Now().Before(end); seed++ {
		fmt.Printf("=== make soak SEED=%d\n", seed)
		for _, i := range rand.New(rand.NewPCG(seed, 0)).Perm(len(steps)) {
			building := time.Now()
			if err := steps[i].build(ctx); err != nil {
				return errors.Join(failed, err)
			}
			end = end.Add(time.Since(building))
			finished, err := steps[i].take(ctx, end, race, append(shared, fmt.Sprintf("COAPPLY_SEED=%d", seed)))
			if !finished {
				break
			}
			if err != nil {
				failed = errors.Join(failed, fmt.Errorf("%s with SEED=%d: %w", steps[i].name, seed, err))
			}
		}
		if once {
			break
		}
	}
	return errors.Join(failed, ctx.Err())
}

func names(steps []step) (all []string) {
	for _, s := range steps {
		all = append(all, s.name)
	}
	return all
}

// packagesOf returns the packages of our module that the steps test.
func packagesOf(steps []step) (packages []string) {
	for _, s := range steps {
		for _, argument := range s.arguments {
			if s.module == "" && strings.HasPrefix(argument, "./") {
				packages = append(packages, argument)
			}
		}
	}
	slices.Sort(packages)
	return slices.Compact(packages)
}

func verdict(err error) string {
	if err != nil {
		return "FAILED"
	}
	return "passed"
}

// step is a go test command.
type step struct {
	name        string
	arguments   []string
	environment []string
	module      string // folder of another module; "" is the root module
	compiles    bool   // takes minutes to compile packages that no other step needs; runs without the race detector
}

// builds reports whether the step needs a build that takes minutes.
func (s step) builds() bool { return s.compiles || s.namesVersion() }

// namesVersion reports whether the step names a version of the control plane.
func (s step) namesVersion() bool {
	return slices.ContainsFunc(s.environment, func(v string) bool { return strings.HasPrefix(v, "K8S=") })
}

// build does the slow build of the step, if any: of the step's tests, or of the version that the step names.
func (s step) build(ctx context.Context) error {
	if s.compiles {
		s.arguments = append([]string{"-run", "^$"}, s.arguments...)
		return s.run(ctx, false, nil)
	}
	if !s.namesVersion() {
		return nil
	}
	command := exec.CommandContext(ctx, "go", "run", "./cmd/platform", "build")
	command.Stderr = os.Stderr
	command.Env = append(os.Environ(), s.environment...)
	return command.Run()
}

// take runs the step and prints the result. At the end of the soak it ends the step, and finished is false.
func (s step) take(ctx context.Context, end time.Time, race bool, environment []string) (finished bool, err error) {
	ctx, cancel := context.WithDeadline(ctx, end)
	defer cancel()
	started := time.Now()
	fmt.Printf("=== %s: go test %s\n", s.name, strings.Join(s.arguments, " "))
	err = s.run(ctx, race, environment)
	finished = ctx.Err() == nil
	said := verdict(err)
	if !finished {
		said = "not finished"
	}
	fmt.Printf("=== %s: %s after %s\n", s.name, said, time.Since(started).Round(time.Second))
	return finished, err
}

// run runs the go test command. When the context ends, it interrupts the tests, so that they stop their control planes.
func (s step) run(ctx context.Context, race bool, environment []string) error {
	arguments := append([]string{"test", "-count=1", "-timeout=2h", "-parallel=8"}, s.arguments...)
	if race && !s.compiles {
		arguments = append([]string{"test", "-race"}, arguments[1:]...)
		environment = append(slices.Clone(environment), "CGO_ENABLED=1") // which the detector needs, and nothing else
	}
	command := exec.CommandContext(ctx, "go", arguments...)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // go test leaves its tests running when it is told to end
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGINT) }
	command.WaitDelay = time.Minute
	command.Dir = s.module
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	command.Env = append(append(append(os.Environ(), "COAPPLY_REAL=1"), environment...), s.environment...) // no server in memory
	return command.Run()
}
