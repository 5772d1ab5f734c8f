package access

import (
	"math"
	"net/http"
	"strconv"

	"github.com/rookeryhq/rookery/internal/auth"
)

// The rate limit headers, as net/http stores them. Canonicalizing them for each response would cost
// more than the rate limit itself.
var (
	limitHeader     = http.CanonicalHeaderKey("RateLimit-Limit")
	remainingHeader = http.CanonicalHeaderKey("RateLimit-Remaining")
	resetHeader     = http.CanonicalHeaderKey("RateLimit-Reset")
)

// SetRateHeaders writes the remaining allowance of a caller into the response headers, if the caller has a
// rate limit: the largest burst, the number of calls allowed now, and the seconds until the full
// burst is available.
func SetRateHeaders(h http.Header, left auth.Allowance) {
	if left.Limit == 0 {
		return
	}
	h[limitHeader] = []string{strconv.Itoa(left.Limit)}
	h[remainingHeader] = []string{strconv.Itoa(left.Remaining)}
	h[resetHeader] = []string{strconv.Itoa(int(math.Ceil(left.Reset.Seconds())))}
}
