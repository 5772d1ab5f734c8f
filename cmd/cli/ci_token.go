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

	"rookery/internal/access"
	"rookery/internal/fault"
)

// patientToken is how long GitHub may take to make out a token, and mostToken how many bytes its answer has at most.
const (
	patientToken = 5 * time.Second
	mostToken    = 64 << 10
)

// idToken is the token that the CI system makes out for the job: the one of ROOKERY_ID_TOKEN, else one that GitHub is
// asked for. It is empty where there is none, and nobody has asked for one.
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

// audienceOf is for whom a token is made out: --audience, else what the server says of itself, and the tenant.
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

// isPrivate reports whether nobody else reads what is sent to an address: over TLS, or to this machine.
func isPrivate(u *url.URL) bool {
	if u.Scheme == "https" {
		return true
	}
	ip := net.ParseIP(u.Hostname())
	return u.Scheme == "http" && ip != nil && ip.IsLoopback()
}

// fetch gets JSON, with a bearer token if there is one. It follows no redirect.
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
