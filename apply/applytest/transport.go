package applytest

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"net/http"
	"sync"
)

// transport is the http.RoundTripper of the clients of a Server. It calls the server's handler directly. The response
// to a watch is a stream.
type transport struct{ server *Server }

func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if req.Body == nil {
		req.Body = http.NoBody
	}
	defer req.Body.Close()
	served := req.Clone(context.WithoutCancel(ctx)) // as over a network, the server handles the request even if the client's context ends
	served.RequestURI = req.URL.RequestURI()
	served.RemoteAddr = "127.0.0.1:1"
	fault := t.server.fault(req)
	if fault.Before != nil {
		fault.Before()
	}
	if err := ctx.Err(); err != nil || fault.LoseRequest {
		return nil, cmp.Or(err, error(errLost))
	}
	if fault.Answer == nil && isWatch(req) {
		if fault.LoseAnswer {
			return nil, errLost
		}
		return t.watch(req, served)
	}
	answer := &answer{header: http.Header{}}
	if fault.Answer != nil {
		answerWith(fault.Answer, answer, served)
	} else {
		t.server.handler.ServeHTTP(answer, served)
	}
	if err := ctx.Err(); err != nil || fault.LoseAnswer {
		return nil, cmp.Or(err, error(errLost))
	}
	return response(req, answer.status, answer.header, io.NopCloser(&answer.body), int64(answer.body.Len())), nil
}

func isWatch(req *http.Request) bool {
	watch := req.URL.Query().Get("watch")
	return req.Method == http.MethodGet && (watch == "true" || watch == "1")
}

func response(req *http.Request, status int, header http.Header, body io.ReadCloser, length int64) *http.Response {
	if status == 0 {
		status = http.StatusOK
	}
	return &http.Response{
		Status: http.StatusText(status), StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, Body: body, ContentLength: length, Request: req,
	}
}

// answer is the http.ResponseWriter that records a response of the handler.
type answer struct {
	status int
	header http.Header
	body   bytes.Buffer
}

func (a *answer) Header() http.Header { return a.header }
func (a *answer) Flush()              {}

func (a *answer) Write(data []byte) (int, error) { return a.body.Write(data) }

func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
}

// watch returns the response to a watch as soon as the handler has written the header. The watch ends when the client's
// context ends, when the client closes the body, or when the server ends.
func (t transport) watch(req, served *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(req.Context())
	stop := context.AfterFunc(t.server.ctx, cancel)
	reader, writer := io.Pipe()
	context.AfterFunc(ctx, func() { _ = reader.CloseWithError(ctx.Err()) }) // otherwise the handler would wait for a reader
	stream := &stream{header: http.Header{}, body: writer, started: make(chan struct{})}
	go func() {
		defer stop()
		t.server.handler.ServeHTTP(stream, served.WithContext(ctx))
		stream.WriteHeader(http.StatusOK)
		_ = writer.Close() // Close never returns an error
	}()
	select {
	case <-stream.started:
		return response(req, stream.status, stream.header, &streamBody{reader, cancel}, -1), nil
	case <-ctx.Done():
		cancel()
		return nil, ctx.Err()
	}
}

// stream is the http.ResponseWriter that passes a response on while the handler writes it.
type stream struct {
	status  int
	header  http.Header
	body    *io.PipeWriter
	once    sync.Once
	started chan struct{}
}

func (s *stream) Header() http.Header { return s.header }

// CloseNotify is never called. It exists because kube-apiserver wraps the ResponseWriter, and the wrapper has the
// method Flush only if the ResponseWriter has CloseNotify.
func (s *stream) CloseNotify() <-chan bool { return nil }
func (s *stream) Flush()                   { s.WriteHeader(http.StatusOK) }

func (s *stream) WriteHeader(status int) {
	s.once.Do(func() {
		s.status = status
		close(s.started)
	})
}

func (s *stream) Write(data []byte) (int, error) {
	s.WriteHeader(http.StatusOK)
	return s.body.Write(data)
}

type streamBody struct {
	io.Reader

	cancel context.CancelFunc
}

func (b *streamBody) Close() error {
	b.cancel()
	return b.Reader.(*io.PipeReader).Close()
}
