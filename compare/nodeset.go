package compare

// NodeSetLabel is on each pod of a set that an arm takes as a whole; its value is the name of the set.
const NodeSetLabel = "compare.coapply.dev/nodeset"
