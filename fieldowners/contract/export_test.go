package contract

// IsEverybodys is how a Comparer knows paths that others may own as well.
var IsEverybodys = isEverybodys
