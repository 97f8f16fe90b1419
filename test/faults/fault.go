package faults

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"testing/iotest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Fault describes a fault of one request.
type Fault struct {
	Name   string
	Sent   bool   // the API server gets the request and carries it out
	Kills  bool   // then the manager is cut off from the API server, as if it had died
	Answer Answer // the response that the manager gets; nil: the connection is reset
}

// Answer returns the response that the manager gets. own is the API server's response, nil if the request was not sent.
type Answer func(request *http.Request, own *http.Response) *http.Response

// Faults that TestMatrix injects into each write.
var (
	Killed        = Fault{Name: "killed", Kills: true, Sent: true}
	AnswerDropped = Fault{Name: "answer dropped", Sent: true}
	Internal      = Fault{Name: "500", Answer: status(http.StatusInternalServerError, metav1.StatusReasonInternalError, 0)}
)

// Further faults that TestRandomFaults injects.
var (
	RequestDropped   = Fault{Name: "request dropped"}
	InternalAfter    = Fault{Name: "500 after", Sent: true, Answer: etcdDied}
	StaleWrite       = Fault{Name: "409 stale write", Answer: status(http.StatusConflict, metav1.StatusReasonConflict, 0)}
	Busy             = Fault{Name: "429", Answer: status(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, 0)}
	BusyFor          = Fault{Name: "429 with Retry-After", Answer: status(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, time.Second)}
	Unavailable      = Fault{Name: "503", Answer: status(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, 0)}
	UnavailableFor   = Fault{Name: "503 with Retry-After", Answer: status(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, time.Second)}
	TimeoutBefore    = Fault{Name: "504", Answer: status(http.StatusGatewayTimeout, metav1.StatusReasonTimeout, 0)}
	TimeoutAfter     = Fault{Name: "504 after", Sent: true, Answer: status(http.StatusGatewayTimeout, metav1.StatusReasonTimeout, 0)}
	AnswerTruncated  = Fault{Name: "answer truncated", Sent: true, Answer: truncated}
	AnswerDelayed    = Fault{Name: "answer delayed", Sent: true, Answer: delayed}
	ForgedConflict   = Fault{Name: "409 ownership conflict", Answer: ownershipConflict}
	PageOfABalancer  = Fault{Name: "502 of a load balancer", Answer: page}
	UnreadableAnswer = Fault{Name: "answer of no JSON", Sent: true, Answer: unreadable}
)

// errReset is the error that a client gets when the connection breaks.
var errReset error = syscall.ECONNRESET

func respond(request *http.Request, code int, contentType, body string) *http.Response {
	return &http.Response{
		StatusCode: code, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: request,
		Header: http.Header{"Content-Type": {contentType}}, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
	}
}

func status(code int, reason metav1.StatusReason, retryAfter time.Duration) Answer {
	return func(request *http.Request, _ *http.Response) *http.Response {
		answer := respond(request, code, "application/json", fmt.Sprintf(
			`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"a fault of the test","reason":%q,"code":%d}`, reason, code))
		if retryAfter > 0 {
			answer.Header.Set("Retry-After", strconv.Itoa(int(retryAfter.Seconds())))
		}
		return answer
	}
}

// etcdDied returns the API server's response to a write during which etcd failed. The write may have taken effect.
func etcdDied(request *http.Request, _ *http.Response) *http.Response {
	return respond(request, http.StatusInternalServerError, "application/json",
		`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"rpc error: code = Unavailable desc = error reading from server: EOF","code":500}`)
}

func ownershipConflict(request *http.Request, _ *http.Response) *http.Response {
	return respond(request, http.StatusConflict, "application/json",
		`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Conflict","code":409,`+
			`"message":"Apply failed with 1 conflict: conflict with \"somebody\": .metadata.labels.app",`+
			`"details":{"causes":[{"reason":"FieldManagerConflict","message":"conflict with \"somebody\"","field":".metadata.labels.app"}]}}`)
}

func page(request *http.Request, _ *http.Response) *http.Response {
	return respond(request, http.StatusBadGateway, "text/html", "<html><body>502 Bad Gateway</body></html>")
}

// truncated returns half of the answer, as when the connection breaks.
func truncated(_ *http.Request, own *http.Response) *http.Response {
	body, _ := io.ReadAll(own.Body)
	own.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body[:len(body)/2]), iotest.ErrReader(io.ErrUnexpectedEOF)))
	return own
}

func unreadable(request *http.Request, own *http.Response) *http.Response {
	return respond(request, own.StatusCode, "application/json", `{"kind":`)
}

func delayed(request *http.Request, own *http.Response) *http.Response {
	timer := time.NewTimer(300 * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-request.Context().Done():
	}
	return own
}
