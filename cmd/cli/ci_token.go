package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/rookeryhq/rookery/internal/access"
	"github.com/rookeryhq/rookery/internal/fault"
)

// patientToken is the timeout of a request for a token, and mostToken the largest size of its
// answer in bytes. A token is about two KiB, so a larger answer is not that of a token service.
const (
	patientToken = 5 * time.Second
	mostToken    = 64 << 10
)

// idToken returns the token that the CI system issues for the job: ROOKERY_ID_TOKEN, a variable
// that GitLab can set to such a token, or else one that it requests from GitHub. The token is a JWT
// with the claims of the job, which the server verifies with the keys of the CI system. So a
// repository needs no stored secret.
//
// It returns "" if neither a tenant nor an audience is set: the job does not use such tokens, and
// the caller uses the stored token of `rookery login`, if there is one. It returns UNAUTHENTICATED
// if the workflow has no permission to get a token, with the line that is missing as a fix, and
// UNAVAILABLE if the request fails.
//
// A requested token is masked in the log of the job with GitHub's command ::add-mask::, before
// anything else can print it.
func (b *builds) idToken(ctx context.Context, server string) (string, error) {
	if token := b.env("ROOKERY_ID_TOKEN"); token != "" {
		return token, nil
	}
	at, secret := b.env("ACTIONS_ID_TOKEN_REQUEST_URL"), b.env("ACTIONS_ID_TOKEN_REQUEST_TOKEN")
	tenant := cmp.Or(b.tenant, b.env("ROOKERY_TENANT"))
	switch {
	case tenant == "" && b.audience == "":
		return "", nil
	case at == "" || secret == "":
		return "", fault.New(fault.Unauthenticated, "GitHub does not issue tokens to this job").
			Fix("add to the workflow: permissions: id-token: write")
	}
	audience, err := b.audienceOf(ctx, server, tenant)
	if err != nil {
		return "", err
	}
	u, err := url.Parse(at)
	if err != nil || !isPrivate(u) {
		return "", fault.New(fault.InvalidParameter, "ACTIONS_ID_TOKEN_REQUEST_URL must be an https URL")
	}
	query := u.Query()
	query.Set("audience", audience)
	u.RawQuery = query.Encode()
	var answer struct{ Value string }
	if err := fetch(ctx, u.String(), secret, &answer); err != nil || answer.Value == "" {
		return "", fault.New(fault.Unavailable, "GitHub issued no token to this job").Because(err)
	}
	_, err = fmt.Fprintln(b.app.Err, "::add-mask::"+answer.Value)
	return answer.Value, err
}

// audienceOf returns the audience of the token: --audience, or else the resource that the server
// reports in its OAuth metadata (RFC 9728), followed by /t/ and the tenant. A server accepts only
// tokens that were issued for it, so a token of another service cannot be used there.
func (b *builds) audienceOf(ctx context.Context, server, tenant string) (string, error) {
	if b.audience != "" {
		return b.audience, nil
	}
	var about struct{ Resource string }
	err := fetch(ctx, strings.TrimSuffix(server, "/")+access.WellKnown, "", &about)
	if err != nil || about.Resource == "" {
		return "", fault.New(fault.Unavailable, "the server does not report the audience for "+
			"tokens").
			Fix("--audience URL").Because(err)
	}
	return strings.TrimSuffix(about.Resource, "/") + "/t/" + tenant, nil
}

// isPrivate reports whether requests to a URL cannot be read on their way: it has the scheme https,
// or is http to a loopback address. The secret for the request must not be sent anywhere else. A
// name such as localhost is not accepted with http, because it could resolve to another machine.
func isPrivate(u *url.URL) bool {
	if u.Scheme == "https" {
		return true
	}
	ip := net.ParseIP(u.Hostname())
	return u.Scheme == "http" && ip != nil && ip.IsLoopback()
}

// fetch gets JSON, with a bearer token if it is not empty, and decodes at most mostToken bytes of
// it. It follows no redirects, so the token is sent to this address only. Any status but 200 is an
// error. Errors are not faults; they are the cause of one.
func fetch(ctx context.Context, address, bearer string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, patientToken)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return fmt.Errorf("ask for a token: %w", err)
	}
	r.Header.Set("Accept", "application/json")
	if bearer != "" {
		r.Header.Set("Authorization", "Bearer "+bearer)
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
	answer, err := client.Do(r)
	if err != nil {
		return fmt.Errorf("ask for a token: %w", err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("ask for a token: status %d", answer.StatusCode)
	}
	return json.NewDecoder(io.LimitReader(answer.Body, mostToken)).Decode(into)
}
