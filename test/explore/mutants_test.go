package explore

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// mutants are faults of the protocol. Each replaces a piece of a source file, and the World must have a schedule that
// violates an invariant. All are compiled into one binary, in which COAPPLY_MUTANT activates one mutant.
var mutants = []struct{ name, file, old, new, world string }{
	{
		"a forced apply is not pinned", "apply/settle.go",
		"	a.landed, a.err = a.send(ctx, request{left, wire.Identity{UID: a.object.GetUID(), ResourceVersion: a.object.GetResourceVersion()}, true})",
		`	pin := wire.Identity{UID: a.object.GetUID(), ResourceVersion: a.object.GetResourceVersion()}
			if MUTANT {
				pin = wire.Identity{}
			}
			a.landed, a.err = a.send(ctx, request{left, pin, true})`,
		"force against a foreign put",
	},
	{
		"a forced apply is pinned to a read after the decision", "apply/settle.go",
		"func (a *attempt) sendForced(ctx context.Context) {\n",
		`func (a *attempt) sendForced(ctx context.Context) {
			if MUTANT {
				a.object, _ = a.readLive(ctx)
			}
		`,
		"force against a foreign put",
	},
	{
		"a rejected conflict is forced", "apply/internal/decide/decide.go",
		"		case c.Conflicts == Reject:\n",
		`		case c.Conflicts == Reject && MUTANT:
			return SendForced
		case c.Conflicts == Reject:
		`,
		"reject against force",
	},
	{
		"a cached object is trusted although it is older than a write of the process", "apply/steady.go",
		"	return c.ledger.Shows(", "	return MUTANT || c.ledger.Shows(",
		"an intent that changes back",
	},
	{
		"an apply is not in the ledger", "apply/internal/ledger/attempt.go",
		"	own.last = response\n",
		`	own.last = response
			if MUTANT {
				own.applies = writes{}
			}
		`,
		"an intent that changes back",
	},
	{
		"a delete is not in the ledger", "client_writes.go",
		"	return c.wrote(object, nil, c.Client.Delete(ctx, object, opts...))",
		`	if MUTANT {
				return c.Client.Delete(ctx, object, opts...)
			}
			return c.wrote(object, nil, c.Client.Delete(ctx, object, opts...))`,
		"drop-in client: apply, delete, apply",
	},
	{
		"a DeleteAllOf is not in the ledger", "client_writes.go",
		"err := c.Client.DeleteAllOf(ctx, object, opts...)\n",
		`err := c.Client.DeleteAllOf(ctx, object, opts...)
			if MUTANT {
				return err
			}
		`,
		"drop-in client: apply, delete of all, apply",
	},
	{
		"a patch is not in the ledger", "client_writes.go",
		"	return c.wrote(object, object, c.Client.Patch(ctx, object, patch, opts...))",
		`	if MUTANT {
				return c.Client.Patch(ctx, object, patch, opts...)
			}
			return c.wrote(object, object, c.Client.Patch(ctx, object, patch, opts...))`,
		"drop-in client: apply, patch, apply",
	},
	{
		"an update is not in the ledger", "client_writes.go",
		"	return c.wrote(object, object, c.Client.Update(ctx, object, opts...))",
		`	if MUTANT {
				return c.Client.Update(ctx, object, opts...)
			}
			return c.wrote(object, object, c.Client.Update(ctx, object, opts...))`,
		"drop-in client: apply, update, apply",
	},
	{
		"absence is concluded from the cache", "apply/internal/decide/decide.go",
		"	case !r.Live:\n",
		`	case !r.Live && r.Found == None && MUTANT:
			return NoObject
		case !r.Live:
		`,
		"must exist, against delete and recreate",
	},
	{
		"absence is concluded from the status code of a write", "apply/request.go",
		"	if !apierrors.IsNotFound(err) {\n		return err\n	}\n	c.exchange.Calling()\n",
		"	if !apierrors.IsNotFound(err) || MUTANT {\n		return err\n	}\n	c.exchange.Calling()\n",
		"a subresource that the kind lacks",
	},
	{
		"a new object is not created exclusively", "apply/target.go",
		"	if t.absent {\n		p.ResourceVersion", "	if t.absent && !MUTANT {\n		p.ResourceVersion",
		"exclusive creation against a foreign object",
	},
	{
		"a write is not pinned to the uid that was read", "apply/target.go",
		"	p := wire.Identity{UID: t.uid}\n",
		`	p := wire.Identity{UID: t.uid}
			if MUTANT {
				p.UID = ""
			}
		`,
		"must exist, against delete and recreate",
	},
	{
		"a proof is used although values or owners have changed since", "apply/steady.go",
		"	if !before.HoldsFor(now.Print) {", "	if !MUTANT && !before.HoldsFor(now.Print) {",
		"force against a foreign put",
	},
	{
		"a field stays relinquished although its owner has given it up", "apply/steady.go",
		"gave != nil && (gave.others == 0 ||", "gave != nil && !MUTANT && (gave.others == 0 ||",
		"relinquish against a release",
	},
	{
		"pruning does not read the parent again", "apply/applyset/prune.go",
		"	if len(p.dropped)+len(released) > 0 {", "	if len(p.dropped)+len(released) > 0 && !MUTANT {",
		"pruning against an intent that comes back, without faults",
	},
	{
		"a delete of a member is not pinned", "apply/applyset/delete.go",
		"		client.Preconditions{UID: &ref.UID, ResourceVersion: &ref.ResourceVersion},\n",
		`		func() client.DeleteOption {
				if MUTANT {
					return client.Preconditions{}
				}
				return client.Preconditions{UID: &ref.UID, ResourceVersion: &ref.ResourceVersion}
			}(),
		`,
		"pruning against a foreign child of the same name, without faults",
	},
}

var packageClause = regexp.MustCompile(`(?m)^package \w+\n`)

var violated = regexp.MustCompile(`violated after (\d+) steps`)

func TestMutants(t *testing.T) {
	if testing.Short() || os.Getenv("COAPPLY_WORLD") != "" {
		t.Skip("make explore runs it")
	}
	fmt.Printf("\n%-75s %s\n", "planted bug", "steps to the violation")
	binary := builtWithMutants(t)
	for _, m := range mutants {
		t.Run(strings.ReplaceAll(m.name, " ", "_"), func(t *testing.T) {
			command := exec.CommandContext(t.Context(), binary, "-test.run", "^TestWorlds$")
			command.Env = append(os.Environ(), "COAPPLY_MUTANT="+m.name, "COAPPLY_WORLD="+m.world)
			out, _ := command.CombinedOutput()
			steps := violated.FindSubmatch(out)
			if steps == nil {
				t.Fatalf("no schedule of %q violates an invariant:\n%s", m.world, out)
			}
			fmt.Printf("%-75s %s\n", m.name, steps[1])
		})
	}
}

func builtWithMutants(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	overlay := map[string]string{}
	for _, m := range mutants {
		original := filepath.Join(root, filepath.FromSlash(m.file))
		mutated := overlay[original]
		if mutated == "" {
			mutated = filepath.Join(dir, strings.ReplaceAll(m.file, "/", "_"))
			overlay[original] = mutated
			copyFile(t, original, mutated)
		}
		replace(t, mutated, m.old, strings.ReplaceAll(m.new, "MUTANT", `(mutant_os.Getenv("COAPPLY_MUTANT") == "`+m.name+`")`))
	}
	for _, mutated := range overlay {
		content, err := os.ReadFile(mutated)
		if err != nil {
			t.Fatal(err)
		}
		clause := packageClause.FindString(string(content))
		replace(t, mutated, clause, clause+"\nimport mutant_os \"os\"\n")
	}
	raw, err := json.Marshal(map[string]any{"Replace": overlay})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(dir, "mutants.test")
	if out, err := exec.CommandContext(t.Context(), "go", "test", "-overlay", file, "-c", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("building the mutants: %v\n%s", err, out)
	}
	return binary
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	content, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, content, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func replace(t *testing.T, file, old, replacement string) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(content), old); n != 1 {
		t.Fatalf("%s has %d times what a mutant replaces:\n%s", file, n, old)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(content), old, replacement, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
}
