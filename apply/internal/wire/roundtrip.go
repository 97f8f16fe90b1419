package wire

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-logr/logr"

	"coapply.dev/apply/lanes"
)

// probePath is answered at once, may be read by everybody who is logged in
// (system:public-info-viewer), and is exempt from priority and fairness.
const probePath = "/livez"

// measure measures how long a request takes that costs the server next to nothing, by the
// transport of our requests.
func measure(transport http.RoundTripper, like *http.Request, probe *lanes.Probe) {
	if quiet(probe) != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), lanes.ProbeTimeout)
	defer cancel()
	prefix, _, _ := strings.Cut(like.URL.Path, "/api") // of a proxy that serves several clusters
	request := &http.Request{
		Method: http.MethodGet, URL: &url.URL{Scheme: like.URL.Scheme, Host: like.URL.Host, Path: prefix + probePath}, Host: like.Host,
		Header: like.Header.Clone(), Proto: like.Proto, ProtoMajor: like.ProtoMajor, ProtoMinor: like.ProtoMinor,
	}
	for _, ofBody := range []string{"Content-Type", "Content-Length", "Accept"} {
		request.Header.Del(ofBody)
	}
	response, err := transport.RoundTrip(request.WithContext(ctx))
	if err != nil {
		probe.Failed()
		return
	}
	_, err = io.Copy(io.Discard, io.LimitReader(response.Body, 4096))
	_ = response.Body.Close() // it has been read
	switch {
	case err != nil, response.StatusCode >= http.StatusInternalServerError, response.StatusCode == http.StatusTooManyRequests:
		probe.Failed()
	case response.StatusCode == http.StatusOK:
		probe.Answered()
	case probe.Refused():
		logr.FromContextOrDiscard(like.Context()).Info("the round trip to the API server cannot be measured: writes of this process to one object go one at a time",
			"path", probePath, "status", response.Status)
	}
}

// quiet waits until no writer is inside the lane. This wait has a separate deadline. On a slow network, the last
// writers take as long to leave as the probe request itself takes.
func quiet(probe *lanes.Probe) error {
	ctx, cancel := context.WithTimeout(context.Background(), lanes.ProbeTimeout)
	defer cancel()
	return probe.Quiet(ctx)
}
