package steady

import "testing"

// TestProveByAnswer: if a response has no entry of the manager, the manager owns nothing. A cached object proves no
// such thing, because a cache may drop entries.
func TestProveByAnswer(t *testing.T) {
	apps := schemasOf(t, serverModels(t, "apis/apps/v1"))
	nothing := func() *proofCase { return newProof(t, apps, deploymentOf("")).entries(none) }
	for name, c := range map[string]struct {
		*proofCase

		want string
	}{
		"owns nothing":            {nothing().answered(), "exactly"},
		"owns nothing, by a read": {nothing(), "exactly one Apply entry"},
		"sets something":          {newProof(t, apps, container("image: a")).entries(none).answered(), "does not own exactly"},
		"owns something":          {newProof(t, apps, container("image: a")).asks(setsNothing).answered(), "does not own exactly"},
		"in another version":      {newProof(t, apps, container("image: a")).entries(ofVersion("apps/v1beta1")).asks(setsNothing).answered(), "exactly one Apply entry"},
		"as it is":                {newProof(t, apps, container("image: a")).answered(), "exactly"},
	} {
		t.Run(name, func(t *testing.T) { c.wants(t, c.want) })
	}
}

func setsNothing(r *Request) { delete(r.Config, "spec"); delete(r.Config, "metadata") }

// answered marks the object as a response of the API server.
func (p *proofCase) answered() *proofCase {
	p.read.Answer = true
	return p
}
