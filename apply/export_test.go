package apply

// Belongs is for the tests of what Intent.Belongs is given.
var Belongs = belongs
