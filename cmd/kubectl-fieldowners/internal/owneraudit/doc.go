// Package owneraudit sums up the ownership of many objects: which managers write to
// them, what Lint finds, and which managers own fields together.
//
// It is pure, and what it holds does not grow with the number of objects: it counts,
// and keeps a bounded number of examples. Where names are as many as objects, as a
// hostile client may make them, it stops telling them apart and says so.
//
//	audit := owneraudit.New()
//	for each object {
//		audit.Add(object)
//	}
//	owneraudit.Print(os.Stdout, audit.Report(), screen, wide)
package owneraudit
