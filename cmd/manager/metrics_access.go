package main

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// maxToken is the length limit for bearer tokens, in bytes. Every token that an API server accepts is shorter.
const maxToken = 64 << 10

// metricsAccess returns the filter that allows only authorized clients to get /metrics. It is
// filters.WithAuthenticationAndAuthorization with one change: a request with a token that the API
// server rejects gets a 401, where the original filter returns 500 and logs an error.
func metricsAccess(config *rest.Config, httpClient *http.Client) (metricsserver.Filter, error) {
	filter, err := filters.WithAuthenticationAndAuthorization(config, httpClient)
	if err != nil {
		return nil, err
	}
	reviews, err := authenticationclient.NewForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, fmt.Errorf("creating the client for TokenReviews: %w", err)
	}
	return func(log logr.Logger, metrics http.Handler) (http.Handler, error) {
		next, err := filter(log, metrics)
		if err != nil {
			return nil, err
		}
		return tokenCheck{reviews.TokenReviews(), next}, nil
	}, nil
}

// tokenCheck is an HTTP handler that responds 401 to a request whose bearer token is malformed or rejected by the API server. It passes
// any other request to next. If the TokenReview fails, tokenCheck also passes the request to next, which reports the error.
type tokenCheck struct {
	reviews authenticationclient.TokenReviewInterface
	next    http.Handler
}

func (c tokenCheck) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	if token := bearerToken(request); !wellFormed(token) || c.refused(request, token) {
		w.Header().Set("WWW-Authenticate", "Bearer")
		http.Error(w, "Unauthorized", http.StatusUnauthorized)
		return
	}
	c.next.ServeHTTP(w, request)
}

func (c tokenCheck) refused(request *http.Request, token string) bool {
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}
	answer, err := c.reviews.Create(request.Context(), review, metav1.CreateOptions{})
	return err == nil && !answer.Status.Authenticated
}

// bearerToken returns the bearer token of a request, or "". It parses the header as controller-runtime's filter does.
func bearerToken(request *http.Request) string {
	scheme, token, _ := strings.Cut(strings.TrimSpace(request.Header.Get("Authorization")), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	token, _, _ = strings.Cut(token, " ")
	return token
}

// wellFormed reports whether a token is printable ASCII (RFC 6750) and has at most maxToken bytes.
func wellFormed(token string) bool {
	return token != "" && len(token) <= maxToken &&
		!strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' })
}
