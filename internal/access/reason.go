package access

import "github.com/rookeryhq/rookery/internal/fault"

// A Reason is the reason why a request was refused before any tool was called.
type Reason string

// The reasons.
const (
	NoToken  Reason = "no_token"   // a token is required, and there is none
	Invalid  Reason = "invalid"    // the token is invalid, for whatever reason
	Expired  Reason = "expired"    // the token has expired
	Host     Reason = "host"       // the Host header names another server
	Origin   Reason = "origin"     // the request comes from a page of another origin
	Plain    Reason = "plain_http" // the request came over plain HTTP
	Overload Reason = "overload"   // too many calls are in flight
)

// Reasons returns all reasons.
func Reasons() []Reason {
	return []Reason{NoToken, Invalid, Expired, Host, Origin, Plain, Overload}
}

// Unauthenticated returns the reason of a refusal with status 401. sent reports whether the request
// had a token.
func Unauthenticated(f *fault.Fault, sent bool) Reason {
	switch {
	case !sent:
		return NoToken
	case f.Code == fault.TokenExpired:
		return Expired
	}
	return Invalid
}
