package fieldmanagers

import (
	"slices"

	"coapply.dev/api/v1alpha1"
	"coapply.dev/fieldowners/contract"
)

// fightsOf returns claims of the condition Contended, of each kind of ours in the other claims.
func fightsOf(others contract.Contract) contract.Contract {
	var claims contract.Contract
	for _, claim := range others {
		known := slices.ContainsFunc(claims, func(c contract.Claim) bool { return c.Kind == claim.Kind })
		if claim.Kind.Group == v1alpha1.SchemeGroupVersion.Group && !known {
			claims = append(claims, contract.Claim{Manager: Fights, Kind: claim.Kind, Applies: []string{`.status.conditions[type="Contended"]`}})
		}
	}
	return claims
}
