package fieldowners

// BeforeFirstApply is the field manager that the API server makes up where the managed
// fields of an object were wiped: at the next apply it owns, by Update, everything that
// stands in the object. It is nobody and never writes: what it owns is whoever's it was
// before. A policy may name it.
const BeforeFirstApply = beforeFirstApply
