package state

import (
	"context"
	"strings"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/vault"
)

// VersionAt returns the version that an as_of argument selects: the given version, or the newest
// one at a given time. A time with a clock means that moment. A day, or any other period, means its
// end, so that a question about a day includes every change of that day. Times are in the vault's
// current time zone. A time in the future, or a period without an end, selects the newest version.
// A time before the first version selects v0, at which the vault is empty.
//
// It does not check that a given version exists. A text that is neither a version nor a time is a
// fault with the family's Malformed code.
func (v View) VersionAt(ctx context.Context, text string) (uint64, error) {
	text = strings.TrimSpace(text)
	if version, ok := eventlog.ParseVersion(text); ok {
		return version, nil
	}
	i, err := vault.ParseTime(text, v.Clock)
	if err != nil {
		forms := append([]string{"v42"}, vault.TimeForms()...)
		return 0, fault.New(v.family.Malformed, "as_of must be a version or a time: one of %s",
			strings.Join(forms, ", ")).With("argument", "as_of").With("allowed", forms)
	}
	end := i.To
	switch {
	case end.IsZero(): // the period has no end
		return v.Index.Version(), nil
	case i.From.Before(i.To):
		end = end.Add(-1) // To is the first moment after the period
	}
	return v.Vault.VersionAt(ctx, end)
}
