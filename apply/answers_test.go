package apply_test

import "coapply.dev/test/kit/answers"

// What the API server answers, see package answers.
type answer = answers.Answer

var (
	ok, created, fail, breaks = answers.OK, answers.Created, answers.Fail, answers.Breaks
	notFound, stale, otherUID = answers.NotFound, answers.Stale, answers.OtherUID
	invalid, unknownReason    = answers.Invalid, answers.UnknownReason
	conflict, cause, respond  = answers.Conflict, answers.Cause, answers.Respond
	web, entry                = answers.Web, answers.Entry
	deployments               = answers.Deployments

	hpaReplicas, phantomReplicas, kubectlPause = answers.HPAReplicas, answers.PhantomReplicas, answers.KubectlPause
)
