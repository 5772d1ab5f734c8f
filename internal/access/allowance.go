package access

import (
	"math"
	"net/http"
	"strconv"

	"rookery/internal/auth"
)

// The headers of a rate, in the spelling under which net/http keeps them. To spell them anew for each answer
// costs more than to keep the rate.
var (
	limitHeader     = http.CanonicalHeaderKey("RateLimit-Limit")
	remainingHeader = http.CanonicalHeaderKey("RateLimit-Remaining")
	resetHeader     = http.CanonicalHeaderKey("RateLimit-Reset")
)

// Spent says in the headers of an answer what is left of the caller's rate, if it has one: how many calls
// at once it allows, how many it would let through now, and in how many seconds it is whole again.
func Spent(h http.Header, left auth.Allowance) {
	if left.Limit == 0 {
		return
	}
	h[limitHeader] = []string{strconv.Itoa(left.Limit)}
	h[remainingHeader] = []string{strconv.Itoa(left.Remaining)}
	h[resetHeader] = []string{strconv.Itoa(int(math.Ceil(left.Reset.Seconds())))}
}
