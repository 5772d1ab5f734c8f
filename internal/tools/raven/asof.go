package raven

import (
	"context"
	"strings"

	"rookery/internal/fault"
	"rookery/internal/repo"
	"rookery/internal/vault"
)

// versionAt is the version that as_of names: itself, or the newest one that was there at a time. A
// time with a clock is that moment. A day, or any other time that lasts, is the end of it: who asks
// what was so on a day means with all that was written on it. Times are those of the vault's zone as
// it is now. A time that is yet to come is now, and before the first version there is v0, at which the
// vault is empty.
func (v view) versionAt(ctx context.Context, text string) (uint64, error) {
	text = strings.TrimSpace(text)
	if version, ok := repo.ParseVersion(text); ok {
		return version, nil
	}
	i, err := vault.ParseTime(text, v.clock)
	if err != nil {
		forms := append([]string{"v42"}, vault.TimeForms()...)
		return 0, fault.New(fault.InvalidValue, "as_of must be a version or a time: one of %s",
			strings.Join(forms, ", ")).With("argument", "as_of").With("allowed", forms)
	}
	end := i.To
	switch {
	case end.IsZero(): // it has no end
		return v.idx.Version(), nil
	case i.From.Before(i.To):
		end = end.Add(-1) // the first moment after it is not in it
	}
	return v.vault.VersionAt(ctx, end)
}

// inArgument says of a fault which argument it is about.
func inArgument(err error, name string) error {
	if fault.Is(err, fault.NotFound) {
		return fault.Of(err).With("argument", name)
	}
	return err
}
