package state

import (
	"context"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/tool"
)

// An Input is the input of a tool that reads one state of a vault. An input that embeds tool.Vault
// and tool.AsOf implements it.
type Input interface {
	VaultName() string
	State() tool.AsOf
}

// A Noted is a pointer to an output that embeds tool.Aside.
type Noted[Out any] interface {
	*Out
	Note(key string, value any)
}

// NewTool returns a tool that calls fn with the vault of the call, at the version or time of the
// as_of argument, and records that version in the meta of the answer.
func NewTool[In Input, Out any, O Noted[Out]](
	s Source, spec tool.Spec, fn func(context.Context, View, In) (Out, error),
) *tool.Tool {
	return tool.New(spec, func(ctx context.Context, c auth.Caller, in In) (Out, error) {
		v, err := s.ViewAt(ctx, c, in.VaultName(), in.State())
		if err != nil {
			var none Out
			return none, err
		}
		out, err := fn(ctx, v, in)
		O(&out).Note("version", v.Version())
		return out, err
	})
}
