// Package fights watches who owns the fields of every kind that our managers apply
// to, by metadata alone, and shows it to package contention. It tells people of
// fights and loops: in an event on the contested object and on the object of ours
// that it belongs to, and there in the condition Contended, which it applies as
// coapply-fights and sets back when it is over.
//
// The condition of an object is never written before there was a fight. One that was
// left behind by a manager that has ended is found by its managed fields, and set
// back unless the fight has begun anew by then.
package fights
