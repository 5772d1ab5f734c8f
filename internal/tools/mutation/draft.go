package mutation

import (
	"context"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tools/state"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A Writing is the part of a call that every mutation of a vault has.
type Writing struct {
	Caller   auth.Caller
	Vault    string
	Mutation Mutation
	Slim     bool // the answer leaves out the whole of what the call changed; see Shortener

	// About returns the files that if_version is compared with first; see Change.
	About func(context.Context, *repo.Tx) ([]vault.Path, error)
}

// A Shortener is an output that can leave out the whole of what a call changed.
type Shortener interface{ Shorten() }

// Draft runs a function that drafts a change of the vault and fills its output; see Vault. The
// log keeps the whole output for a repeated call, in whichever form this call asks for it.
func Draft[Out any](
	ctx context.Context, from state.Source, w Writing,
	fn func(context.Context, *repo.Tx, *Out) error,
) (Out, error) {
	var none Out
	call, err := Call(w.Caller, w.Mutation, from.Family)
	if err != nil {
		return none, err
	}
	v, err := from.Vault(ctx, w.Caller, w.Vault)
	if err != nil {
		return none, err
	}
	out, err := Vault(ctx, v, call, Change[Out]{About: w.About, Draft: fn})
	if s, ok := any(&out).(Shortener); ok && w.Slim {
		s.Shorten()
	}
	return out, err
}
