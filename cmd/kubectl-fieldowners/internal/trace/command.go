// Package trace implements the command trace of the plugin. The command reads audit logs of the API server, and shows who
// wrote which object, and who took which field from whom.
package trace

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"coapply.dev/cmd/kubectl-fieldowners/internal/auditlog"
	"coapply.dev/cmd/kubectl-fieldowners/internal/console"
	"coapply.dev/cmd/kubectl-fieldowners/internal/objects"
	"coapply.dev/cmd/kubectl-fieldowners/internal/page"
	"coapply.dev/cmd/kubectl-fieldowners/internal/view"
)

type command struct {
	*objects.Reader

	output, object, path string
	perMinute            int
}

// New returns the cobra command for "kubectl fieldowners trace".
func New(p *objects.Reader) *cobra.Command {
	c := &command{Reader: p, output: "text"}
	cmd := &cobra.Command{
		Use:   "trace FILE...",
		Short: "Show from audit logs who really wrote, and who took which field from whom",
		Long: `Show from audit logs of the API server who wrote which objects, which applies changed
nothing, who took which field from whom, which writes were refused, and who fights.
Unlike the name of a field manager, the user in an audit log is authenticated.

FILE is a log with one audit.k8s.io/v1 event per line, plain or compressed by gzip; - is
stdin. Several logs, such as the logs of several API servers, are merged by time. Owners
and values need the audit level RequestResponse; for requests at lower levels, only the
writers are shown.

Exit codes: 0 no field was taken, 1 fields were taken or managers fight, 2 an error.`,
		Example: `  kubectl fieldowners trace audit.log
  kubectl fieldowners trace audit-*.log.gz -o html > trace.html
  kubectl fieldowners trace audit.log --object deployments/web -n shop --path .spec.replicas`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd, args) },
	}
	flags := cmd.Flags()
	console.OneOf(cmd, flags, &c.output, "output", "o", "", "text", "json", "yaml", "html")
	flags.StringVar(&c.object, "object", "", "the history of one object, TYPE/NAME; TYPE is a kind or resource, such as deployments.apps")
	flags.StringVar(&c.path, "path", "", "only this `field` and the fields below, such as .spec.replicas")
	flags.IntVar(&c.perMinute, "fights-per-minute", 5, "report a fight if a field changes owners more often than this in a minute")
	cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return cmd
}

func (c *command) selection(cmd *cobra.Command) (s auditlog.Selection, err error) {
	if s.Path, err = view.ParsePath(c.path); err != nil {
		return s, console.UsageError(cmd, "--path: %w", err)
	}
	if cmd.Flags().Changed("namespace") {
		if s.Namespace, _, err = c.Namespace(); err != nil {
			return s, err
		}
	}
	if c.object == "" {
		return s, nil
	}
	resource, name, found := strings.Cut(c.object, "/")
	if !found || resource == "" || name == "" || strings.Contains(name, "/") {
		return s, console.UsageError(cmd, "--object is %s, want TYPE/NAME, such as deployments/web or deployments.apps/web", view.Safe(c.object))
	}
	s.Resource, s.Name = schema.ParseGroupResource(resource), name
	return s, nil
}

func (c *command) run(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return console.UsageError(cmd, "no audit log is named: name a file, or - for stdin")
	}
	if c.perMinute < 1 {
		return console.UsageError(cmd, "--fights-per-minute is %d, want at least 1", c.perMinute)
	}
	asked, err := c.selection(cmd)
	if err != nil {
		return err
	}
	var logs []auditlog.Log
	for i, name := range args {
		if slices.Contains(args[:i], name) {
			return console.UsageError(cmd, "%s is named twice: its writes would count twice", view.Safe(name))
		}
		if name == "-" {
			logs = append(logs, auditlog.Log{Name: "stdin", Reader: c.In})
			continue
		}
		file, err := os.Open(name)
		if err != nil {
			return err
		}
		defer file.Close()
		logs = append(logs, auditlog.Log{Name: name, Reader: file})
	}
	r, err := auditlog.Trace(logs, asked, c.perMinute)
	if r.Events == 0 && err == nil {
		err = fmt.Errorf("%s: none of the %d lines is an audit event of audit.k8s.io/v1", view.Safe(strings.Join(args, ", ")), r.Unreadable)
	}
	if r.Events == 0 {
		return err
	}
	if asked.Name != "" && len(r.Writers) == 0 {
		return errors.Join(err, fmt.Errorf("no request in the logs writes %s: check the type, the name and the namespace (-n)", view.Safe(c.object)))
	}
	if printing := c.print(cmd, args, r, asked); printing != nil {
		return printing
	}
	switch {
	case err != nil: // what could be read was printed anyway
		return err
	case len(r.Taken)+len(r.Fights) > 0:
		return console.ErrFound
	}
	return nil
}

func (c *command) print(cmd *cobra.Command, args []string, r auditlog.Report, asked auditlog.Selection) error {
	switch c.output {
	case "text":
		printReport(c.Out, c.Screen(false), r, asked.Name != "")
		return nil
	case "html":
		return page.Trace(c.Out, page.NewAbout(c.Reader, cmd, objects.Source{Files: args}, nil), r)
	}
	return c.Structured(c.output, r)
}
