package team

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"rookery/internal/auth"
	"rookery/internal/fault"
	"rookery/internal/repo"
	"rookery/internal/table"
)

// A Token is an API token as the tenant knows it: all but its secret.
type Token struct {
	ID       string               `json:"id"`
	Name     string               `json:"name"`
	Digest   string               `json:"digest"` // of the secret; see auth
	Roles    map[string]auth.Role `json:"roles"`  // by vault, as those of a caller
	Tools    []string             `json:"tools,omitempty"`
	Prefix   string               `json:"prefix,omitempty"`
	ReadOnly bool                 `json:"readonly,omitempty"`
	By       string               `json:"by"` // the principal that made it
	Created  time.Time            `json:"created"`
	Expires  time.Time            `json:"expires,omitzero"` // zero: never
	Revoked  time.Time            `json:"revoked,omitzero"` // or that which made it, or the one before

	Changed uint64 `json:"-"` // the tenant's commit that changed the entry last
}

// Valid reports whether the token can be used.
func (t Token) Valid(now time.Time) bool {
	return t.Revoked.IsZero() && (t.Expires.IsZero() || now.Before(t.Expires))
}

// MaxTokens is how many API tokens a tenant has at most that can be used.
const MaxTokens = 20_000

// maker is the id of the API token that made a token; empty where a person or a workload did.
func (t Token) maker() string {
	id, made := strings.CutPrefix(t.By, auth.APIToken(""))
	if !made {
		return ""
	}
	return id
}

// Token is the entry of an id, also of a token that was revoked, or whose maker was.
func (s *State) Token(id string) (Token, bool) {
	t, ok := s.tokens[id]
	if at, ended := s.ended[id]; ended {
		t.Revoked = at
	}
	return t, ok
}

// Tokens are the entries by id, also of tokens that were revoked.
func (s *State) Tokens() []Token {
	var all []Token
	for _, id := range slices.Sorted(maps.Keys(s.tokens)) {
		t, _ := s.Token(id)
		all = append(all, t)
	}
	return all
}

// valid is how many tokens can be used.
func (s *State) valid(now time.Time) int {
	n := 0
	for id := range s.tokens {
		if t, _ := s.Token(id); t.Valid(now) {
			n++
		}
	}
	return n
}

// HasTokens reports whether there is an API token that can be used.
func (s *State) HasTokens(now time.Time) bool {
	for id := range s.tokens {
		if t, _ := s.Token(id); t.Valid(now) {
			return true
		}
	}
	return false
}

// ends reports whether a token is revoked, or one whose maker is, so that the ends of all must be found.
func (s *State) ends(id string) bool {
	t := s.tokens[id]
	_, of := s.ended[t.maker()]
	_, was := s.ended[id]
	return of || was || !t.Revoked.IsZero()
}

// endings are when tokens ended, by id, of those that did: when they were revoked themselves, or a token in
// the chain of their makers was, whichever was first. It looks at each token once.
func endings(tokens map[string]Token) map[string]time.Time {
	all, seen := map[string]time.Time{}, make(map[string]bool, len(tokens))
	var chain []string // from a token to the first maker that is known, or has none
	for id := range tokens {
		chain = chain[:0]
		for _, there := tokens[id]; there && !seen[id]; _, there = tokens[id] {
			seen[id], chain = true, append(chain, id)
			id = tokens[id].maker()
		}
		for _, made := range slices.Backward(chain) {
			at, ended := all[tokens[made].maker()]
			own := tokens[made].Revoked
			if !own.IsZero() && (!ended || own.Before(at)) {
				at, ended = own, true
			}
			if ended {
				all[made] = at
			}
		}
	}
	return all
}

// CreateToken adds a token; By and Created are those of the commit. A token that can be used no more makes
// none: UNAUTHENTICATED or TOKEN_EXPIRED. answer is what the call is answered, and must not hold the secret,
// for it is kept.
func (t *Team) CreateToken(
	ctx context.Context, c repo.Call, made Token, answer func(Token) any,
) (repo.Receipt, error) {
	return t.update(ctx, c, func(_ context.Context, d *repo.Draft[*State]) (any, error) {
		made := made
		if err := d.Touch(0); err != nil {
			return nil, err
		}
		made.By, made.Created = c.Who.Principal, d.Now()
		if err := d.State().makes(made); err != nil {
			return nil, err
		}
		switch s := d.State(); {
		case !made.Expires.IsZero() && !d.Now().Before(made.Expires):
			return nil, fault.New(fault.InvalidParameter, "the token would have expired already")
		case s.valid(d.Now()) >= MaxTokens:
			return nil, fault.New(fault.QuotaExceeded, "a tenant has at most %d tokens", MaxTokens).
				With("limit", MaxTokens).Fix("revoke one that is not needed").
				Try("team_token_list", nil)
		}
		return answer(made), d.Record(kindToken, made.ID, made)
	})
}

// makes is the error for a token whose maker is one that can be used no more.
func (s *State) makes(t Token) error {
	maker, ok := s.Token(t.maker())
	switch {
	case !ok || maker.Valid(t.Created):
		return nil
	case !maker.Revoked.IsZero():
		return auth.Refused().Because(errors.New("the token that makes another was revoked"))
	}
	return auth.Expired()
}

// RevokeToken ends a token, and all that it made, and that these made: at once in this process, and in any
// other within a minute. One that is not there is NOT_FOUND; one that ended so before stays as it is.
func (t *Team) RevokeToken(
	ctx context.Context, c repo.Call, id string, answer func(t Token, revoked bool) any,
) (repo.Receipt, error) {
	return t.update(ctx, c, func(_ context.Context, d *repo.Draft[*State]) (any, error) {
		tok, ok := d.State().Token(id)
		if !ok {
			return nil, fault.New(fault.NotFound, "there is no token of that id").
				Try("team_token_list", nil)
		}
		if err := d.Touch(tok.Changed); err != nil {
			return nil, err
		}
		if !tok.Revoked.IsZero() {
			return answer(tok, false), nil
		}
		tok.Revoked = d.Now()
		return answer(tok, true), d.Record(kindToken, id, tok)
	})
}

// uses is the partition of the times at which tokens were used last, by their ids. They are no part of
// the log: nothing follows from them.
const uses = "token-uses"

// useLife is how old the time of a token's last use may be.
const useLife = time.Hour

// notePatience is how long the note of a use may take.
const notePatience = 5 * time.Second

// Used notes that a token is used now. It costs a write once an hour, which the call does not wait for; see
// Options.Later. What cannot be written is logged, and tried again with the next use.
func (t *Team) Used(ctx context.Context, id string) {
	now := t.opt.Now()
	if !t.agents.due(id, now) {
		return
	}
	ctx = context.WithoutCancel(ctx)
	t.later(func() {
		ctx, cancel := context.WithTimeout(ctx, notePatience)
		defer cancel()
		err := t.opt.Table.Commit(ctx, table.Set(table.Item{
			Key: table.Key{Part: uses, Sort: id}, Data: []byte(now.UTC().Format(time.RFC3339)),
		}))
		if err != nil {
			t.agents.again(id)
			t.opt.Log.WarnContext(ctx, "the use of a token is not noted", slog.Any("cause", err))
		}
	})
}

// Uses are the times at which tokens were used last, by their ids: to the hour, and to now for this process.
func (t *Team) Uses(ctx context.Context) (map[string]time.Time, error) {
	all := map[string]time.Time{}
	for it, err := range t.opt.Table.Query(ctx, uses, "", "~") {
		if err != nil {
			return nil, fmt.Errorf("read when tokens were used: %w", err)
		}
		at, err := time.Parse(time.RFC3339, string(it.Data))
		if err != nil {
			return nil, fmt.Errorf("read when a token was used: %w", errors.New("no time"))
		}
		all[it.Sort] = at
	}
	t.agents.addUses(all)
	return all, nil
}
