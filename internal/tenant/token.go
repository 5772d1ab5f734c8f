package tenant

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/table"
)

// A Token is an API token as the tenant stores it, without its secret. Revoked and expired tokens
// stay in the state, so that their use and their makers can be shown.
type Token struct {
	ID       string               `json:"id"`
	Name     string               `json:"name"`
	Digest   string               `json:"digest"` // of the secret; see auth
	Roles    map[string]auth.Role `json:"roles"`  // by vault, as in auth.Caller
	Tools    []string             `json:"tools,omitempty"`
	Prefix   string               `json:"prefix,omitempty"`
	ReadOnly bool                 `json:"readonly,omitempty"`
	By       string               `json:"by"` // the principal that created it
	Created  time.Time            `json:"created"`
	Expires  time.Time            `json:"expires,omitzero"` // zero: never
	Revoked  time.Time            `json:"revoked,omitzero"` // when it, or one of its makers, was revoked; zero: never

	Changed uint64 `json:"-"` // seq of the tenant's commit that last changed the entry
}

// Valid reports whether the token is neither revoked nor expired.
func (t Token) Valid(now time.Time) bool {
	return t.Revoked.IsZero() && (t.Expires.IsZero() || now.Before(t.Expires))
}

// MaxTokens is the maximum number of valid API tokens of a tenant.
const MaxTokens = 20_000

// maker returns the id of the API token that created this token, or "" if a person or a workload
// did.
func (t Token) maker() string {
	id, made := strings.CutPrefix(t.By, auth.APIToken(""))
	if !made {
		return ""
	}
	return id
}

// Token returns the token with an id, including revoked ones. If one of its makers was revoked,
// Revoked is set to that time.
func (s *State) Token(id string) (Token, bool) {
	t, ok := s.tokens[id]
	if at, ended := s.ended[id]; ended {
		t.Revoked = at
	}
	return t, ok
}

// Tokens returns all tokens, sorted by id, including revoked ones.
func (s *State) Tokens() []Token {
	var all []Token
	for _, id := range slices.Sorted(maps.Keys(s.tokens)) {
		t, _ := s.Token(id)
		all = append(all, t)
	}
	return all
}

// valid returns the number of valid tokens. It visits all of them.
func (s *State) valid(now time.Time) int {
	n := 0
	for id := range s.tokens {
		if t, _ := s.Token(id); t.Valid(now) {
			n++
		}
	}
	return n
}

// HasTokens reports whether there is a valid API token.
func (s *State) HasTokens(now time.Time) bool {
	for id := range s.tokens {
		if t, _ := s.Token(id); t.Valid(now) {
			return true
		}
	}
	return false
}

// affectsEndTimes reports whether a change of a token may change which tokens have ended: it is or was
// revoked, or one of its makers is. It saves computing endings for each token that is created,
// which would make a long log slow to replay.
func (s *State) affectsEndTimes(id string) bool {
	t := s.tokens[id]
	_, of := s.ended[t.maker()]
	_, was := s.ended[id]
	return of || was || !t.Revoked.IsZero()
}

// endTimes returns when tokens ended, by id: when they or a token in the chain of their makers were
// revoked, whichever was first. Tokens that have not ended are missing. It visits each token once.
func endTimes(tokens map[string]Token) map[string]time.Time {
	all, seen := map[string]time.Time{}, make(map[string]bool, len(tokens))
	var chain []string // from a token up to the first maker that was visited or has no maker
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

// CreateToken adds a token; By and Created are set by the commit. A maker that is no longer valid
// is refused with UNAUTHENTICATED or TOKEN_EXPIRED: its call may have been authenticated by a state
// that is a minute old. answer returns the answer to store for the call; it must not contain the
// secret.
func (t *Tenant) CreateToken(
	ctx context.Context, c eventlog.Call, made Token, answer func(Token) any,
) (eventlog.Receipt, error) {
	return t.update(ctx, c, func(_ context.Context, d *eventlog.Draft[*State]) (any, error) {
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

// makes returns an error if the token's maker is no longer valid.
func (s *State) makes(t Token) error {
	maker, ok := s.Token(t.maker())
	switch {
	case !ok || maker.Valid(t.Created):
		return nil
	case !maker.Revoked.IsZero():
		return auth.Refused().Because(errors.New("the token of this call was revoked"))
	}
	return auth.Expired()
}

// RevokeToken revokes a token, the tokens that it created, the tokens that these created, and so
// on. This takes effect at once in this process and within a minute in others. Only the token
// itself is written; the others follow from State.ended. A token that does not exist is NOT_FOUND;
// a token that has already ended is not changed.
func (t *Tenant) RevokeToken(
	ctx context.Context, c eventlog.Call, id string, answer func(t Token, revoked bool) any,
) (eventlog.Receipt, error) {
	return t.update(ctx, c, func(_ context.Context, d *eventlog.Draft[*State]) (any, error) {
		tok, ok := d.State().Token(id)
		if !ok {
			return nil, fault.New(fault.NotFound, "there is no token with that id").
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

// uses is the partition of the times of the last use of tokens, by id. They are not in the log,
// because nothing depends on them.
const uses = "token-uses"

// useLife is the maximum age of the recorded time of a token's last use.
const useLife = time.Hour

// useWriteTimeout is the time limit for recording a use.
const useWriteTimeout = 5 * time.Second

// Used records that a token is being used. It costs at most one write an hour, which the call does
// not wait for; see Options.Later. A failed write is logged and retried with the next use. The time
// is that of the call, and not of the write.
func (t *Tenant) Used(ctx context.Context, id string) {
	now := t.opt.Now()
	if !t.agents.due(id, now) {
		return
	}
	ctx = context.WithoutCancel(ctx)
	t.later(func() {
		ctx, cancel := context.WithTimeout(ctx, useWriteTimeout)
		defer cancel()
		err := t.opt.Table.Commit(ctx, table.Set(table.Item{
			Key: table.Key{Part: uses, Sort: id}, Data: []byte(now.UTC().Format(time.RFC3339)),
		}))
		if err != nil {
			t.agents.forgetUse(id)
			t.opt.Log.WarnContext(ctx, "the use of a token was not recorded", slog.Any("cause", err))
		}
	})
}

// Uses returns the times of the last use of tokens, by id: accurate to an hour, and for uses in
// this process to the second.
func (t *Tenant) Uses(ctx context.Context) (map[string]time.Time, error) {
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
