package fieldowners

// Managers that the API server makes up.
const (
	beforeFirstApply = "before-first-apply" // for what stood in an object without managed fields when it was first applied to
	ancientChanges   = "ancient-changes"    // for the oldest of more than ten that wrote by Update
)
