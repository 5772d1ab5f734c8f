package access

import (
	"math"
	"net/http"
	"strconv"

	"rookery/internal/auth"
)

// Spent says in the headers of an answer what is left of the caller's rate, if it has one: how many calls
// at once it allows, how many it would let through now, and in how many seconds it is whole again.
func Spent(h http.Header, left auth.Allowance) {
	if left.Limit == 0 {
		return
	}
	h.Set("RateLimit-Limit", strconv.Itoa(left.Limit))
	h.Set("RateLimit-Remaining", strconv.Itoa(left.Remaining))
	h.Set("RateLimit-Reset", strconv.Itoa(int(math.Ceil(left.Reset.Seconds()))))
}
