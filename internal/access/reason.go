package access

import "rookery/internal/fault"

// A Reason says why somebody was turned away before any tool was called.
type Reason string

// The reasons.
const (
	NoToken  Reason = "no_token"   // there is no token, and one is needed
	Invalid  Reason = "invalid"    // the token is not good, whatever is wrong with it
	Expired  Reason = "expired"    // it was good
	Host     Reason = "host"       // the request names another server
	Origin   Reason = "origin"     // it comes from a page of another origin
	Plain    Reason = "plain_http" // it came over plain HTTP
	Overload Reason = "overload"   // as many calls as there may be are in flight
)

// Reasons are all of them.
func Reasons() []Reason {
	return []Reason{NoToken, Invalid, Expired, Host, Origin, Plain, Overload}
}

// Unauthenticated is why a request was turned away with 401: for lack of a token, if none was sent, or
// for what is wrong with it.
func Unauthenticated(f *fault.Fault, sent bool) Reason {
	switch {
	case !sent:
		return NoToken
	case f.Code == fault.TokenExpired:
		return Expired
	}
	return Invalid
}
