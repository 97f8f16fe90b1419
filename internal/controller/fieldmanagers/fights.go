package fieldmanagers

// One condition of each kind of ours.
var fights = func() []Claim {
	var claims []Claim
	for _, kind := range []string{"Devbox", "License", "NodeMaintenance", "NodeSet", "SlurmController", "User"} {
		claims = append(claims, Claim{
			Manager: Fights,
			Kind:    kind + ".platform.coapply.dev",
			Paths:   []string{`.status.conditions[type="Contended"]`},
		})
	}
	return claims
}()
