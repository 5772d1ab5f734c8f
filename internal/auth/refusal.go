package auth

import (
	"time"

	"rookery/internal/fault"
)

// Refused is the fault of every token that does not prove who calls: the same bytes whatever was wrong
// with it, so that an attacker learns nothing by trying. Add what was wrong with Because, for the log; a
// cause never holds a part of the token.
func Refused() *fault.Fault {
	return fault.New(fault.Unauthenticated, "the token was not accepted").
		Fix("send a token that this server accepts")
}

// Expired is the fault of a token of which only the time is wrong.
func Expired() *fault.Fault {
	return fault.New(fault.TokenExpired, "the token has expired").
		Fix("get a new token")
}

// unknowable is the fault of a token that may be good or not: its issuer's keys could not be fetched.
func unknowable(after time.Duration) *fault.Fault {
	return fault.New(fault.Unavailable, "the keys of the token's issuer cannot be fetched now").
		Fix("try again later").After(after)
}
