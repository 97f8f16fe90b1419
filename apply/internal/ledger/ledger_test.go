package ledger

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"coapply.dev/apply/internal/wire"
	"coapply.dev/apply/lanes"
)

var (
	web   = named("web")
	us    = Writer{FieldManager: "us"}
	them  = Writer{FieldManager: "them"}
	kind  = schema.GroupKind{Group: "apps", Kind: "Deployment"}
	other = schema.GroupKind{Kind: "ConfigMap"}
)

func named(name string) lanes.Key {
	return lanes.Key{GroupKind: kind, NamespacedName: types.NamespacedName{Namespace: "shop", Name: name}}
}

// at is an object of ours at a version.
func at(version string) wire.Identity { return wire.Identity{UID: "1", ResourceVersion: version} }

// step is one thing that happens to a ledger.
type step func(*Ledger)

func lands(who Writer, version string) step {
	return func(l *Ledger) { l.Sending(web, who).Landed(at(version), false, false) }
}

func forces(who Writer, version string) step {
	return func(l *Ledger) { l.Sending(web, who).Landed(at(version), true, false) }
}
func refused(who Writer) step  { return func(l *Ledger) { l.Sending(web, who).Refused() } }
func lost(who Writer) step     { return func(l *Ledger) { l.Sending(web, who).Unknown(false) } }
func lostWide(who Writer) step { return func(l *Ledger) { l.Sending(web, who).Unknown(true) } }
func sending(who Writer) step  { return func(l *Ledger) { l.Sending(web, who) } }
func wrote(version string) step {
	return func(l *Ledger) { l.Wrote(web, version) }
}
func wroteAll(of schema.GroupKind, namespace string) step {
	return func(l *Ledger) { l.WroteAll(of, namespace) }
}

func reads(version string) step { return func(l *Ledger) { l.Read(web, us, version) } }
func shown(version string) step { return func(l *Ledger) { l.Shows(web, us, version) } }

// forgetsShown is like forgets, and the cache shows each apply.
func forgetsShown(l *Ledger) {
	for i := range 10 {
		key, version := named(fmt.Sprint(i)), fmt.Sprint(3000+i)
		l.Sending(key, us).Landed(at(version), false, false)
		l.Shows(key, us, version)
	}
}

// forgets applies to so many other objects, at versions from 3000 on.
func forgets(l *Ledger) {
	for i := range 10 {
		l.Sending(named(fmt.Sprint(i)), us).Landed(at(fmt.Sprint(3000+i)), false, false)
	}
}

// TestShows: which reads of an object are trusted for the applies of a field manager.
func TestShows(t *testing.T) {
	for name, c := range map[string]struct {
		steps []step
		read  string
		want  bool
	}{
		"never written":          {nil, "1000", true},
		"read before the write":  {[]step{lands(us, "2000")}, "1999", false},
		"read at the write":      {[]step{lands(us, "2000")}, "2000", true},
		"read after the write":   {[]step{lands(us, "2000")}, "10000", true},
		"not to be compared":     {[]step{lands(us, "2000")}, "x", false},
		"an answer without one":  {[]step{lands(us, "")}, "9999", false},
		"a write on its way":     {[]step{lands(us, "2000"), sending(us)}, "9999", false},
		"refused":                {[]step{refused(us)}, "1000", true},
		"refused, no version":    {[]step{refused(us)}, "x", true},
		"lost":                   {[]step{lost(us)}, "9999", false},
		"lost, then refused":     {[]step{lost(us), refused(us)}, "9999", false},
		"lost, then landed":      {[]step{lost(us), lands(us, "2000")}, "2000", true},
		"landed, then refused":   {[]step{lands(us, "2000"), refused(us)}, "1999", false},
		"another's apply":        {[]step{lands(them, "2000")}, "1000", true},
		"another's is lost":      {[]step{lost(them)}, "1000", true},
		"another's force":        {[]step{forces(them, "2000")}, "1999", false},
		"another's force, seen":  {[]step{forces(them, "2000")}, "2000", true},
		"another's force, lost":  {[]step{lostWide(them)}, "9999", false},
		"lost, then ours landed": {[]step{lostWide(them), lands(us, "2000")}, "2000", true},
		"an update":              {[]step{wrote("2000")}, "1999", false},
		"a delete":               {[]step{wrote("")}, "9999", false},
		"a delete, then landed":  {[]step{wrote(""), lands(us, "2000")}, "2000", true},

		"all deleted":                     {[]step{lands(us, "2000"), wroteAll(kind, "shop")}, "9999", false},
		"all of another namespace":        {[]step{wroteAll(kind, "other")}, "1000", true},
		"all of another kind":             {[]step{wroteAll(other, "")}, "1000", true},
		"all of all namespaces":           {[]step{wroteAll(kind, "")}, "9999", false},
		"all deleted, then landed":        {[]step{wroteAll(kind, ""), lands(us, "2000")}, "2000", true},
		"all deleted, another's apply":    {[]step{wroteAll(kind, ""), lands(them, "2000")}, "1999", false},
		"all deleted, read after another": {[]step{wroteAll(kind, ""), lands(them, "2000")}, "2000", true},

		"lost, then read":         {[]step{lost(us), reads("2000")}, "2000", true},
		"lost, read before that":  {[]step{lost(us), reads("2000")}, "1999", false},
		"landed, then read":       {[]step{lands(us, "2000"), reads("3000")}, "2000", true},
		"forgotten, shown before": {[]step{lands(us, "2000"), shown("2000"), forgetsShown}, "2000", true},
		"forgotten, not shown":    {[]step{lands(us, "2000"), forgetsShown}, "1999", false},

		"forgotten: read before":     {[]step{lands(us, "2000"), forgets}, "1999", false},
		"forgotten: read after":      {[]step{lands(us, "2000"), forgets}, "3009", true},
		"forgotten: lost":            {[]step{lost(us), forgets}, "3000", false},
		"forgotten: lost, long ago":  {[]step{lost(us), forgets}, "3009", true},
		"forgotten: a delete":        {[]step{wrote(""), forgets}, "3000", false},
		"forgotten: applied again":   {[]step{lands(us, "2000"), forgets, lands(us, "1500")}, "1500", true},
		"forgotten: another applies": {[]step{lands(us, "2000"), forgets, lands(them, "4000")}, "1999", false},
	} {
		t.Run(name, func(t *testing.T) {
			l := New(2)
			for _, do := range c.steps {
				do(l)
			}
			if got := l.Shows(web, us, c.read); got != c.want {
				t.Errorf("read at %s: %v", c.read, got)
			}
		})
	}
}

// TestUnchanged: a response with the version of the manager's previous response shows that nothing changed.
func TestUnchanged(t *testing.T) {
	l := New(2)
	for i, c := range []struct {
		who      Writer
		response wire.Identity
		want     bool
	}{
		{us, at("1"), false},
		{us, at("1"), true},
		{them, at("1"), false}, // may be the write that we saw
		{Writer{"us", "status"}, at("2"), false},
		{us, at("2"), true},
		{us, wire.Identity{UID: "2", ResourceVersion: "2"}, false},
		{us, wire.Identity{}, false},
		{us, wire.Identity{}, false},
	} {
		if got := l.Sending(web, c.who).Landed(c.response, false, false); got != c.want {
			t.Errorf("response %d: %v", i, got)
		}
	}
}

// TestMade: for ten seconds an object of ours is known by its uid.
func TestMade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(2)
		want := func(what string, who Writer, want types.UID) {
			t.Helper()
			if uid, ok := l.Made(web, who); uid != want || ok != (want != "") {
				t.Errorf("%s: %q, %v", what, uid, ok)
			}
		}
		want("never applied", us, "")
		l.Sending(web, us).Landed(at("1"), false, false)
		want("not known to be ours", us, "")
		l.Sending(web, us).Landed(at("2"), false, true)
		want("ours", us, "1")
		want("another manager", them, "")
		time.Sleep(9 * time.Second)
		l.Sending(web, us).Landed(at("3"), false, false)
		want("nine seconds later", us, "1")
		time.Sleep(time.Second)
		want("ten seconds later", us, "")
		l.Sending(web, us).Landed(at("4"), false, true)
		l.Sending(web, us).Landed(wire.Identity{UID: "2", ResourceVersion: "5"}, false, false)
		want("somebody made another", us, "")
	})
}

// TestReported: what was reported of an object, by the manager and subresource.
func TestReported(t *testing.T) {
	l := New(2)
	l.Report(web, us, []uint64{1, 2})
	for who, want := range map[Writer]int{us: 2, them: 0, {"us", "status"}: 0} {
		if got := l.Reported(web, who); len(got) != want {
			t.Errorf("%v: %v", who, got)
		}
	}
	if !l.Shows(web, us, "1") {
		t.Error("a report is no write")
	}
}

// TestDryRun: nothing is recorded of a dry run.
func TestDryRun(t *testing.T) {
	var attempt *Attempt
	attempt.Refused()
	attempt.Unknown(true)
	if attempt.Landed(at("1"), true, true) {
		t.Error("unchanged")
	}
}
