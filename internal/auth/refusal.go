package auth

import (
	"time"

	"github.com/rookeryhq/rookery/internal/fault"
)

// Refused returns the UNAUTHENTICATED error of a token that does not authenticate a caller. It is
// always the same, so that an attacker learns nothing from it. Add the reason with Because, for the
// log; it must not contain any part of the token.
func Refused() *fault.Fault {
	return fault.New(fault.Unauthenticated, "the token was not accepted").
		Fix("send a token that this server accepts")
}

// Expired returns the TOKEN_EXPIRED error of a token that is valid except for its expiry.
func Expired() *fault.Fault {
	return fault.New(fault.TokenExpired, "the token has expired").
		Fix("get a new token")
}

// keysUnavailable returns the UNAVAILABLE error of a token that cannot be checked, because the keys of
// its issuer could not be fetched. The caller should try again after that time; the token may be
// valid.
func keysUnavailable(after time.Duration) *fault.Fault {
	return fault.New(fault.Unavailable, "the keys of the token's issuer cannot be fetched now").
		Fix("try again later").After(after)
}
