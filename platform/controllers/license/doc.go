// Package license reconciles a License, which says what the User of the same name may use,
// and for how long.
//
// The status is computed first: the phase from the clock, the limits from the phase, the
// Namespace from the User's status. From the status alone follow the intents: the label and
// annotation of the Namespace, whose other fields are the User's (package user), and a
// ResourceQuota in it.
//
// The License forces its limits back if somebody changes them. Any other conflict is reported
// and left to people.
package license
