package steady

import "testing"

// TestProveByAnswer: an answer without an entry of the manager says that the manager owns nothing. A cache may have dropped it.
func TestProveByAnswer(t *testing.T) {
	apps := schemasOf(t, serverModels(t, "apis/apps/v1"))
	nothing := func() *proofCase { return newProof(t, apps, deploymentOf("")).entries(none) }
	for name, c := range map[string]struct {
		*proofCase

		want string
	}{
		"owns nothing":            {nothing().answered(), "exactly"},
		"owns nothing, by a read": {nothing(), "one entry of ours"},
		"sets something":          {newProof(t, apps, container("image: a")).entries(none).answered(), "not those that we own"},
		"owns something":          {newProof(t, apps, container("image: a")).asks(setsNothing).answered(), "not those that we own"},
		"in another version":      {newProof(t, apps, container("image: a")).entries(ofVersion("apps/v1beta1")).asks(setsNothing).answered(), "one entry of ours"},
		"as it is":                {newProof(t, apps, container("image: a")).answered(), "exactly"},
	} {
		t.Run(name, func(t *testing.T) { c.wants(t, c.want) })
	}
}

func setsNothing(r *Request) { delete(r.Config, "spec"); delete(r.Config, "metadata") }

// answered has the object be the API server's answer.
func (p *proofCase) answered() *proofCase {
	p.read.Answer = true
	return p
}
