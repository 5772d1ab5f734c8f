package state

import (
	"context"
	"strings"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/vault"
)

// VersionAt returns the version that as_of names: itself, or the newest one that there was at a time. A
// time with a clock is that moment. A day, or any other time that lasts, is the end of it: a question
// about a day includes everything that was written on it. Times are those of the vault's zone as
// it is now. A time in the future is now, and before the first version there is v0, at which the
// vault is empty.
func (v View) VersionAt(ctx context.Context, text string) (uint64, error) {
	text = strings.TrimSpace(text)
	if version, ok := repo.ParseVersion(text); ok {
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
	case end.IsZero(): // it has no end
		return v.Index.Version(), nil
	case i.From.Before(i.To):
		end = end.Add(-1) // the first moment after it is not in it
	}
	return v.Vault.VersionAt(ctx, end)
}
