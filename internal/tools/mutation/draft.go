package mutation

import (
	"context"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tools/state"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A Request is the part of a call that all mutations of a vault have in common.
type Request struct {
	// Caller is the authenticated caller, whose rights have been checked already.
	Caller auth.Caller
	// Vault is the name of the vault in the caller's tenant.
	Vault    string
	Mutation Mutation
	Slim     bool // the answer omits the full content of the change; see Shortener

	// About returns the files whose versions are compared with if_version first; see Change.
	Targets func(context.Context, *repo.Tx) ([]vault.Path, error)
}

// A Shortener is an output that can omit the full content of what a call changed. Shorten removes
// that content.
type Shortener interface{ Shorten() }

// Draft changes a vault: it runs fn, which drafts the change and fills the output, and returns the
// output. fn may run several times; see Change. For an idempotency key the log stores the full
// output, so a repeated call can ask for either form. Malformed arguments are faults of
// from.Family, and a missing vault is NOT_FOUND.
func Draft[Out any](
	ctx context.Context, from state.Source, w Request,
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
	out, err := ChangeVault(ctx, v, call, Change[Out]{Targets: w.Targets, Draft: fn})
	if s, ok := any(&out).(Shortener); ok && w.Slim {
		s.Shorten()
	}
	return out, err
}
