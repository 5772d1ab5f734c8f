package intake

import (
	"unicode/utf8"

	"github.com/rookeryhq/rookery/internal/repo"
)

// Unfit returns the reason why a text cannot be that of a note; empty if it can.
func Unfit(text []byte) repo.Reason {
	switch {
	case len(text) > repo.MaxNote:
		return repo.LeftSize
	case !utf8.Valid(text):
		return repo.LeftEncoding
	}
	return ""
}
