package applytest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// counted is a fault with its counts.
type counted struct {
	Fault

	number int         // in the list, from 1
	seen   int         // matching calls
	given  int         // how many of these got the answer
	taken  map[int]int // how many got that of an earlier fault, by its number
	unfit  error       // why the answer does not fit the last call that was passed over
}

// sees counts a matching call and reports whether it gets the answer. With Always a call that
// the answer does not fit is passed over.
func (c *counted) sees(made call) bool {
	if !c.meets(made.Call) {
		return false
	}
	c.seen++
	if c.seen <= c.Skip || c.Times != Always && c.given >= c.times() {
		return false
	}
	if c.Times == Always && c.Answer.unfit != nil {
		if err := c.Answer.unfit(made); err != nil {
			c.unfit = err
			return false
		}
	}
	return true
}

// unused returns what did not happen and why; "" if all of it did.
func (c *counted) unused(calls *madeCalls) string {
	if c.given > 0 && (c.Times == Always || c.given == c.times()) {
		return ""
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%v: given %d times of %s, %s matched", c.Fault, c.given, c.wanted(), numberOf(c.seen))
	for _, number := range slices.Sorted(maps.Keys(c.taken)) {
		fmt.Fprintf(&text, "; fault %d answered %d of them", number, c.taken[number])
	}
	if c.unfit != nil {
		fmt.Fprintf(&text, "; passed over the last: %v", c.unfit)
	}
	if c.seen == 0 {
		text.WriteString(calls.hint(c.Call.Kind) + calls.String())
	}
	return text.String()
}

func (c *counted) wanted() string {
	if c.Times == Always {
		return "at least 1"
	}
	return fmt.Sprint(c.times())
}

func numberOf(calls int) string {
	if calls == 1 {
		return "1 call"
	}
	return fmt.Sprintf("%d calls", calls)
}

// madeCalls are the different calls of a client, in the order in which each was first made.
type madeCalls struct {
	order     []Call
	counts    map[Call]int
	resources map[string]string // by kind
}

func (m *madeCalls) add(made call) {
	if m.counts == nil {
		m.counts, m.resources = map[Call]int{}, map[string]string{}
	}
	if m.counts[made.Call]++; m.counts[made.Call] == 1 {
		m.order = append(m.order, made.Call)
		m.resources[made.Kind] = made.resource.Resource
	}
}

// maxListed is how many different calls a message lists.
const maxListed = 20

func (m *madeCalls) String() string {
	if len(m.order) == 0 {
		return "; no call was made"
	}
	var list strings.Builder
	list.WriteString("; the calls that were made:")
	for i, made := range m.order {
		if i == maxListed {
			fmt.Fprintf(&list, "\n  and %d others", len(m.order)-i)
			break
		}
		fmt.Fprintf(&list, "\n  %v", made)
		if count := m.counts[made]; count > 1 {
			fmt.Fprintf(&list, " ×%d", count)
		}
	}
	return list.String()
}

// hint returns the kind that may be meant by one that no call had.
func (m *madeCalls) hint(wanted string) string {
	if _, exact := m.resources[wanted]; exact {
		return ""
	}
	for kind, resource := range m.resources {
		if strings.EqualFold(kind, wanted) || strings.EqualFold(resource, wanted) {
			return fmt.Sprintf("; Kind %q is written %q", wanted, kind)
		}
	}
	return ""
}
