package fieldowners_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/fieldowners"
)

const randomTransfers = 600

// TestTransferLosesNothing moves random fields of random owners: every field that
// had an owner has one, whoever was not asked owns what it owned, From owns nothing
// of what moved, and an undo restores all.
func TestTransferLosesNothing(t *testing.T) {
	moved := 0
	for seed := range uint64(randomTransfers) {
		random := rand.New(rand.NewPCG(seed, 0))
		entries, transfer := randomEntries(random), randomTransfer(random)
		plan, err := transfer.Plan(entries, nil)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		after, err := plan.Rewrite(entries)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		moved += len(plan.Moved)
		checkNothingLost(t, entries, after, transfer)
		if err := plan.Done(after); err != nil {
			t.Errorf("not done: %v", err)
		}
		checkUndo(t, entries, after, plan, nil)
		if t.Failed() {
			t.Fatalf("seed %d: %v\nbefore %q\nafter  %q\nmoved %q\nkept %q", seed, transfer,
				show(entries), show(after), linesOf(plan.Moved), linesOf(plan.Unmoved))
		}
	}
	if moved < randomTransfers {
		t.Errorf("%d fields moved in %d transfers: too few to show anything", moved, randomTransfers)
	}
}

var randomPaths = []string{
	`.spec.a`, `.spec.b`, `.spec.list[name="x"]`, `.spec.list[name="x"].name`, `.spec.list[name="x"].image`,
	`.spec.list[name="x"].ports[port=1,protocol="TCP"]`, `.spec.list[name="x"].ports[port=1,protocol="TCP"].port`,
	`.spec.list[name="y"]`, `.spec.list[name="y"].name`, `.metadata.labels`, `.metadata.labels["a.b/c"]`, `.metadata.labels.d`,
	`.metadata.finalizers[="v"]`, `.metadata.annotations["kubectl.kubernetes.io/last-applied-configuration"]`,
}

var randomManagers = []string{"a", "b", "c", "us"}

// randomEntries has duplicates of Update entries, as writes to /scale leave them.
func randomEntries(random *rand.Rand) list {
	var entries list
	applied := map[string]bool{}
	for range 1 + random.IntN(6) {
		name := randomManagers[random.IntN(len(randomManagers))]
		operation := []string{"Update", "Apply"}[random.IntN(2)]
		who := fmt.Sprintf("%s %s[%s]", name, operation, []string{"", "", "status", "scale"}[random.IntN(4)])
		if operation == "Apply" && applied[who] {
			continue
		}
		applied[who] = true
		fields := map[string]any{}
		for _, path := range randomPaths {
			if random.IntN(3) == 0 {
				insert(fields, path)
			}
		}
		raw, err := json.Marshal(fields)
		if err != nil {
			panic(err)
		}
		entry := owned(who+" v1", string(raw))
		if random.IntN(2) == 0 {
			entry.Time = &metav1.Time{Time: time.Unix(random.Int64N(100)+1, 0)}
		}
		entries = append(entries, entry)
	}
	return entries
}

// insert writes a path in the form of FieldsV1, independently of the package.
func insert(fields map[string]any, path string) {
	keys := strings.NewReplacer(
		`[name="x"]`, `|k:{"name":"x"}`, `[name="y"]`, `|k:{"name":"y"}`, `[port=1,protocol="TCP"]`, `|k:{"port":1,"protocol":"TCP"}`,
		`["a.b/c"]`, `|f:a.b/c`, `[="v"]`, `|v:"v"`,
		`["kubectl.kubernetes.io/last-applied-configuration"]`, `|f:kubectl.kubernetes.io/last-applied-configuration`, `.`, `|f:`,
	).Replace(path)
	for _, key := range strings.Split(keys, "|")[1:] {
		below, ok := fields[key].(map[string]any)
		if !ok {
			below = map[string]any{}
			fields[key] = below
		}
		fields = below
	}
	fields["."] = map[string]any{}
}

func randomTransfer(random *rand.Rand) fieldowners.Transfer {
	operation := []string{"Update", "Apply"}[random.IntN(2)]
	var from []string
	for _, manager := range randomManagers[:1+random.IntN(3)] {
		if random.IntN(2) == 0 {
			for range 1 + random.IntN(3) {
				if path := randomPaths[random.IntN(len(randomPaths))]; !strings.Contains(manager, path) {
					manager += " " + path
				}
			}
		}
		from = append(from, manager)
	}
	return transfer(operation, "us", from...)
}

// checkNothingLost compares owners as text: a model that does not share code with
// what it checks.
func checkNothingLost(t *testing.T, before, after list, transfer fieldowners.Transfer) {
	t.Helper()
	was, is := ownersIn(t, before), ownersIn(t, after)
	for _, line := range was {
		if slices.Contains(is, line) {
			continue
		}
		path, who, _ := strings.Cut(line, " ")
		name, identity, _ := strings.Cut(who, "/")
		asked := slices.ContainsFunc(transfer.From, func(s fieldowners.Source) bool { return s.Manager == name })
		if !asked || !strings.HasPrefix(identity, string(transfer.Operation)) {
			t.Errorf("%s lost %s and was not asked", who, path)
		}
		to := strings.Replace("us/"+identity, "/Update", "/Apply", 1)
		main := strings.Replace(to, "[scale]", "", 1)
		if !slices.Contains(is, path+" "+to) && !slices.Contains(is, path+" "+main) {
			t.Errorf("%s lost %s and %s has not got it", who, path, to)
		}
	}
	for _, line := range is {
		if !slices.Contains(was, line) && !strings.Contains(line, " us/Apply") {
			t.Errorf("%s is new", line)
		}
	}
	checkAllMoved(t, is, transfer)
}

// checkAllMoved holds that From has nothing more of what was asked for, but
// kubectl's annotation and finalizers.
func checkAllMoved(t *testing.T, is []string, transfer fieldowners.Transfer) {
	t.Helper()
	for _, source := range transfer.From {
		for _, line := range is {
			path, who, _ := strings.Cut(line, " ")
			covered := len(source.Paths) == 0 || slices.ContainsFunc(source.Paths, func(p fieldowners.Path) bool {
				return strings.HasPrefix(path, p.String())
			})
			if covered && strings.HasPrefix(who, source.Manager+"/"+string(transfer.Operation)) && !strings.Contains(path, "last-applied") && !strings.Contains(path, "finalizers") {
				t.Errorf("%s still owns %s", who, path)
			}
		}
	}
}
