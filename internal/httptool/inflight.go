package httptool

import (
	"net/http"
	"time"

	"github.com/rookeryhq/rookery/internal/access"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/forwarded"
	"github.com/rookeryhq/rookery/internal/httpbody"
)

// maxProbes is the maximum number of concurrent health checks. They have a limit of their own, so
// that other requests cannot block them.
const maxProbes = 256

// limitInFlight limits the requests in flight of each address and in total. It runs before anything
// is read or done. With HTTP/2 each stream is a request. It also bounds the body, before any
// handler can read it. A refused client must read its response at a faster pace.
func (s *server) limitInFlight(next http.Handler) http.Handler {
	probes := forwarded.NewAddressLimiter(maxProbes, forwarded.Proxies{})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		httpbody.Bound(w, r, MaxBody)
		crowd := s.opt.Requests
		if isProbe(r) {
			crowd = probes
		}
		leave, ok := crowd.Acquire(r.RemoteAddr)
		if !ok {
			s.opt.Meter.Refused(access.Overload)
			s.harden(w.Header())
			if p, is := w.(*pacer); is {
				p.time = hasteTime
			}
			s.refuseUnread(w, r, fault.New(fault.Unavailable,
				"too many concurrent requests from this address, or to this server").After(time.Second))
			return
		}
		defer leave()
		next.ServeHTTP(w, r)
	})
}
