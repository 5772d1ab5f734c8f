package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/localcloud"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/team"
)

// A link is the cost of a call of an idle tool, in process, with one kind of token.
type link struct {
	What  string
	Waits []time.Duration // sorted
	Mean  time.Duration
}

// P returns a percentile of the times.
func (l link) P(percent int) time.Duration { return percentile(l.Waits, percent) }

// The kinds of tokens, as named on the page and in the goals.
const (
	linkNone  = "nothing in between"
	linkAPI   = "an API token"
	linkJWT   = "an RS256 token that was verified before"
	linkFresh = "an RS256 token that is seen for the first time"
	linkWrite = "an API token, of a tool that changes something"
	linkMany  = "an API token, among all of the tenant's"
)

// The numbers of measured calls of each kind (linkCalls, or freshOnes for linkFresh), and of the
// calls before them that are not counted (linkFirst).
const (
	linkCalls = 20_000
	linkFirst = 1_000
	freshOnes = 300
)

// idleIn and idleOut are the input and output of an idle tool.
type idleIn struct {
	Vault string `json:"vault,omitempty" jsonschema:"name of the vault"`
}
type idleOut struct {
	Done bool `json:"done"`
}

// idleTools returns tools that do nothing: one is declared as a read and one as a write.
func idleTools() []*tool.Tool {
	family := *team.Family
	family.Name = "bench"
	idle := func(name string, kind tool.Kind, role auth.Role) *tool.Tool {
		return tool.New(tool.Spec{
			Name: name, Family: &family, Title: "Do nothing", Doc: "Do nothing.",
			Role: role, Kind: kind, Route: tool.Route{Method: "POST", Path: "/" + name},
		}, func(context.Context, auth.Caller, idleIn) (idleOut, error) { return idleOut{true}, nil })
	}
	return []*tool.Tool{
		idle("bench_look", tool.Read, auth.Reader), idle("bench_touch", tool.Write, auth.Editor),
	}
}

// A chain measures the middleware between a request and a tool, on one host.
type chain struct {
	*host
	ctx context.Context
}

// invoke makes a call with a token, through the same middleware as the HTTP edge.
func (c chain) invoke(token, name string) error {
	r, err := http.NewRequestWithContext(c.ctx, http.MethodPost, "/v1/tools/"+name, nil)
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	caller, err := c.hosted.Gate.Caller(r)
	if err != nil {
		return err
	}
	caller.RequestID, caller.Allowance = "bench", new(auth.Allowance)
	_, err = c.whole.Invoke(auth.WithCaller(c.ctx, caller), name, json.RawMessage(`{"vault":"bench"}`))
	return err
}

// plain makes the same call without middleware.
func (c chain) plain() error {
	r, err := http.NewRequestWithContext(c.ctx, http.MethodPost, "/v1/tools/bench_look", nil)
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer none")
	_, err = c.bare.Invoke(auth.WithCaller(c.ctx, auth.LocalCaller()), "bench_look",
		json.RawMessage(`{"vault":"bench"}`))
	return err
}

// measure measures the time of each call.
func (c chain) measure(what string, calls int, call func(i int) error) (link, error) {
	l := link{What: what}
	var all time.Duration
	for i := range calls {
		begun := time.Now()
		err := call(i)
		took := time.Since(begun)
		if err != nil {
			return l, fmt.Errorf("a call with %s: %w", what, err)
		}
		l.Waits, all = append(l.Waits, took), all+took
	}
	l.Mean = all / time.Duration(calls)
	slices.Sort(l.Waits)
	return l, nil
}

// warm calls measure after linkFirst calls that are not counted.
func (c chain) warm(what string, call func(i int) error) (link, error) {
	for i := range linkFirst {
		if err := call(i); err != nil {
			return link{}, fmt.Errorf("a call with %s: %w", what, err)
		}
	}
	return c.measure(what, linkCalls, call)
}

// links measures the middleware with each kind of token.
func (c chain) links(i *localcloud.Issuer, api string) ([]link, error) {
	known, err := i.Token(in{"sub": "somebody"})
	if err != nil {
		return nil, err
	}
	fresh := make([]string, freshOnes)
	for n := range fresh {
		if fresh[n], err = i.Token(in{"sub": "somebody"}); err != nil {
			return nil, err
		}
	}
	var all []link
	add := func(l link, failed error) { all, err = append(all, l), errors.Join(err, failed) }
	add(c.warm(linkNone, func(int) error { return c.plain() }))
	add(c.warm(linkAPI, func(int) error { return c.invoke(api, "bench_look") }))
	add(c.warm(linkJWT, func(int) error { return c.invoke(known, "bench_look") }))
	add(c.measure(linkFresh, freshOnes, func(n int) error { return c.invoke(fresh[n], "bench_look") }))
	add(c.warm(linkWrite, func(int) error { return c.invoke(api, "bench_touch") }))
	return all, err
}

// createToken creates an API token as an admin.
func (c chain) createToken(name string) (string, error) {
	in, err := json.Marshal(in{"name": name, "role": "editor"})
	if err != nil {
		return "", err
	}
	caller := auth.WithCaller(c.ctx, auth.LocalCaller())
	data, err := c.bare.Invoke(caller, "team_token_create", in)
	if err != nil {
		return "", err
	}
	return tokenIn(data)
}

// tokenIn returns the API token in the answer to the call that created it.
func tokenIn(data []byte) (string, error) {
	var answer struct{ Data struct{ Token string } }
	if err := json.Unmarshal(data, &answer); err != nil {
		return "", fmt.Errorf("read the answer: %w", err)
	}
	return answer.Data.Token, nil
}

// listTokens lists one page of API tokens.
func (c chain) listTokens() error {
	_, err := c.bare.Invoke(auth.WithCaller(c.ctx, auth.LocalCaller()), "team_token_list",
		json.RawMessage(`{"limit":50}`))
	return err
}
