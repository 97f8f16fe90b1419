package show

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"coapply.dev/cmd/kubectl-fieldowners/explain"
	"coapply.dev/cmd/kubectl-fieldowners/internal/console"
	"coapply.dev/cmd/kubectl-fieldowners/internal/objects"
	"coapply.dev/cmd/kubectl-fieldowners/internal/view"
)

type explainCommand struct {
	*objects.Reader

	file, live, intent string
	output             string
}

// NewExplain returns the cobra command for "kubectl fieldowners explain".
func NewExplain(p *objects.Reader) *cobra.Command {
	e := &explainCommand{Reader: p, output: "text"}
	cmd := &cobra.Command{
		Use:   "explain [-f FILE]",
		Short: "Explain the conflicts of an apply, and the three ways to resolve them",
		Long: `Explain the conflicts of an apply: who owns which field, and the three ways to resolve
the conflicts, as commands and as policies in Go. The input is the output of kubectl
apply --server-side, the API server's Status as JSON, or a log that quotes either. The
command does not connect to a cluster.

Exit codes: 0 conflicts were explained; 2 there was no conflict, or another error.`,
		Example: `  kubectl apply --server-side -f web.yaml 2>&1 | kubectl fieldowners explain --intent web.yaml
  kubectl get deployment web -o yaml --show-managed-fields > live.yaml
  kubectl fieldowners explain -f answer.txt --live live.yaml --intent web.yaml`,
		Args: console.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return e.run(cmd) },
	}
	flags := cmd.Flags()
	flags.StringVarP(&e.file, "filename", "f", "", "a `file` with the response to the apply, - for stdin (the default)")
	flags.StringVar(&e.live, "live", "", "a `file` with the live object or objects")
	flags.StringVar(&e.intent, "intent", "", "a `file` with the applied object or objects")
	console.OneOf(cmd, flags, &e.output, "output", "o", "", "text", "json", "yaml")
	return cmd
}

func (e *explainCommand) run(cmd *cobra.Command) error {
	if err := e.validate(cmd); err != nil {
		return err
	}
	_, answer, err := e.ReadFile(e.file)
	if err != nil {
		return err
	}
	lives, err := e.objectsIn(e.live)
	if err != nil {
		return err
	}
	for _, live := range lives {
		if err := e.checkLive(live); err != nil {
			return err
		}
	}
	intents, err := e.objectsIn(e.intent)
	if err != nil {
		return err
	}
	explanations, err := explain.Answer(answer, lives, intents)
	if err != nil {
		return errors.New(view.Safe(err.Error()))
	}
	return e.print(explanations)
}

func (e *explainCommand) objectsIn(file string) ([]map[string]any, error) {
	if file == "" {
		return nil, nil
	}
	return e.ReadAll(file)
}

// checkLive returns an error if an object in the file of --live was not read from a cluster. It prints
// a warning if the object has no managed fields.
func (e *explainCommand) checkLive(live map[string]any) error {
	o := view.New(live)
	if o.Absent && o.UID == "" { // every object in a cluster has a UID
		return fmt.Errorf("--live %s: %s has no metadata.uid, so the file was not read from a cluster: save the live object with kubectl get %s -o yaml --show-managed-fields, and give that file as --live; give the file you apply as --intent",
			view.Safe(e.live), o, o.Target())
	}
	if o.Absent {
		tell(e.ErrOut, o)
	}
	return nil
}

func (e *explainCommand) validate(cmd *cobra.Command) error {
	stdin := 0
	for _, flag := range []string{"filename", "live", "intent"} {
		given := cmd.Flags().Lookup(flag)
		switch {
		case given.Changed && given.Value.String() == "":
			return console.UsageError(cmd, "--%s is empty: name a file", flag)
		case given.Value.String() == "-", flag == "filename" && !given.Changed:
			stdin++
		}
	}
	waits, _ := console.TerminalOf(e.In)
	switch {
	case stdin > 1:
		return console.UsageError(cmd, "stdin can be read once, by one of -f, --live and --intent: name files for the others")
	case e.file == "" && waits:
		return console.UsageError(cmd, "no input: pipe the output of the failed apply into the command, or name a file by -f")
	case e.file == "":
		e.file = "-"
	}
	return nil
}

func (e *explainCommand) print(explanations []explain.Explanation) error {
	if e.output != "text" {
		return e.Structured(e.output, view.List[explain.Explanation]{Items: explanations})
	}
	for i, x := range explanations {
		if i > 0 {
			fmt.Fprintln(e.Out)
		}
		if len(explanations) > 1 {
			fmt.Fprintf(e.Out, "Response %d of %d: ", i+1, len(explanations))
		}
		if _, err := fmt.Fprint(e.Out, x); err != nil {
			return err
		}
	}
	return nil
}
