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

// maxToken is more than any token has that an API server issues or takes.
const maxToken = 64 << 10

// metricsAccess is filters.WithAuthenticationAndAuthorization, but that a token which the
// API server does not take is answered with 401. The filter alone takes it for an error of
// ours: it answers with 500 and logs it.
func metricsAccess(config *rest.Config, httpClient *http.Client) (metricsserver.Filter, error) {
	filter, err := filters.WithAuthenticationAndAuthorization(config, httpClient)
	if err != nil {
		return nil, err
	}
	reviews, err := authenticationclient.NewForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, fmt.Errorf("a client for TokenReviews: %w", err)
	}
	return func(log logr.Logger, metrics http.Handler) (http.Handler, error) {
		next, err := filter(log, metrics)
		if err != nil {
			return nil, err
		}
		return tokenCheck{reviews.TokenReviews(), next}, nil
	}, nil
}

// tokenCheck passes a request on unless its token is refused. Where the API server cannot be
// asked, what is next says so.
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

// bearerToken is what the filter would ask the API server about, "" for nothing.
func bearerToken(request *http.Request) string {
	scheme, token, _ := strings.Cut(strings.TrimSpace(request.Header.Get("Authorization")), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	token, _, _ = strings.Cut(token, " ")
	return token
}

// wellFormed reports whether it is worth asking: a token is printable ASCII (RFC 6750).
func wellFormed(token string) bool {
	return token != "" && len(token) <= maxToken &&
		!strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' })
}
