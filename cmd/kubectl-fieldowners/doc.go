// Command kubectl-fieldowners is the kubectl plugin "fieldowners": who owns which
// field of an object, who will be in conflict, and what to do about it.
//
//	kubectl fieldowners deployment/web
//	kubectl fieldowners audit -A
//	kubectl fieldowners check -f web.yaml --field-manager ci
//
// Every command reads files as well as a cluster. Exit codes are those of kubectl
// diff: 0 when nothing was found, 1 when something was, 2 for an error; and 3 where check
// found nothing but is not certain.
package main
