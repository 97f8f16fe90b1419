package breaker

// Refuses is what a policy with the Breaker asks before each force.
var Refuses = (*Breaker).refuses

// Stops is the metric.
var Stops = stops
