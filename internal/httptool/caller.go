package httptool

import (
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/rookeryhq/rookery/internal/access"
	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/forwarded"
	"github.com/rookeryhq/rookery/internal/httpbody"
	"github.com/rookeryhq/rookery/internal/tool"
)

// caller authenticates a request and applies X-Readonly. The agent and the session are arguments,
// even if they are sent as headers. The Caller has the id of the request, and a place for the
// remaining allowance. It reads no body.
func (s *server) caller(r *http.Request) (auth.Caller, error) {
	c, err := s.opt.Authenticate(r)
	if err != nil {
		return auth.Caller{}, err
	}
	c.RequestID, c.Allowance = noteOf(r).id, new(auth.Allowance)
	switch all := r.Header.Values("X-Readonly"); {
	case len(all) == 0, len(all) == 1 && slices.Contains([]string{"", "0", "false"}, all[0]):
	case len(all) == 1 && (all[0] == "1" || all[0] == "true"):
		c.ReadOnly = true
	default: // also two headers, because one of them was sent to make the call safe
		return auth.Caller{}, fault.New(fault.InvalidParameter, "header X-Readonly must be 1 or 0").
			Fix("X-Readonly: 1")
	}
	return c, nil
}

// refuseUnrouted answers a request whose path leads to no tool: 405 if the path has other methods,
// otherwise 404 with the route that was probably meant, or the limit that the caller has exceeded
// with such requests.
func (s *server) refuseUnrouted(w http.ResponseWriter, r *http.Request, err error) {
	if over := s.countLost(r); over != nil {
		err = over
	}
	if other := (*otherMethod)(nil); errors.As(err, &other) {
		s.notAllowed(w, r, other.allowed)
		return
	}
	s.refuseUnread(w, r, fault.Of(err))
}

// countLost counts a request below /v1 that leads to no tool, if it has a valid token. It returns
// an error if the caller has made too many requests. Without a token the request costs nothing that
// is worth counting.
func (s *server) countLost(r *http.Request) error {
	if !strings.HasPrefix(r.URL.Path, "/v1/") || !access.HasBearerToken(r.Header) {
		return nil
	}
	caller, err := s.caller(r)
	if err != nil {
		return nil // the path is wrong in any case
	}
	return s.opt.Count(r.Context(), caller)
}

// A state is the answer of /healthz and /readyz.
type state struct {
	OK       bool              `json:"ok"`
	Data     map[string]string `json:"data"`
	Warnings []tool.Warning    `json:"warnings"`
}

// healthy answers that the process is running.
func (s *server) healthy(w http.ResponseWriter, r *http.Request) { s.writeStatus(w, r, "healthy") }

// ready answers whether calls can be served. The reason of a failure is logged; the response has it
// only if it is meant for everyone; see unready.
func (s *server) ready(w http.ResponseWriter, r *http.Request) {
	if s.opt.Ready != nil {
		if err := s.opt.Ready(r.Context()); err != nil {
			s.opt.Log.WarnContext(r.Context(), "not ready", slog.Any("cause", err))
			s.refuse(w, r, unready(err))
			return
		}
	}
	s.writeStatus(w, r, "ready")
}

// unready returns the fault of a server that is not ready, with the reason if it may be shown: an
// UNAVAILABLE fault with a reason in its details. Everyone can read this page, so other errors
// become one sentence.
func unready(err error) *fault.Fault {
	f := (*fault.Fault)(nil)
	if errors.As(err, &f) && f.Code == fault.Unavailable && f.Details["reason"] != nil {
		return f
	}
	return fault.New(fault.Unavailable, "the server cannot take calls now")
}

// writeStatus answers with a status.
func (s *server) writeStatus(w http.ResponseWriter, r *http.Request, status string) {
	data, err := tool.Marshal(state{true, map[string]string{"status": status}, []tool.Warning{}})
	if err != nil {
		s.refuse(w, r, fault.Of(err))
		return
	}
	body(w, http.StatusOK, data)
}

// document returns the handler of /openapi.json. described builds the text; its error is logged and
// answered.
func (s *server) document(described func() ([]byte, error)) http.HandlerFunc {
	page := newPage(described)
	return func(w http.ResponseWriter, r *http.Request) {
		text, err := page()
		if err != nil {
			s.opt.Log.ErrorContext(r.Context(), "the tools cannot be described", slog.Any("cause", err))
			s.refuse(w, r, fault.Of(err))
			return
		}
		text.write(w, "application/json")
	}
}

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
