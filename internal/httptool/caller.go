package httptool

import (
	"errors"
	"log/slog"
	"net/http"

	"rookery/internal/auth"
	"rookery/internal/fault"
	"rookery/internal/tool"
)

// caller is who makes a request: what authentication says, and the headers narrow. The agent and
// the session are arguments, also where they come as headers.
func (s *server) caller(r *http.Request) (auth.Caller, error) {
	c, err := s.opt.Authenticate(r)
	if err != nil {
		return auth.Caller{}, err
	}
	c.RequestID = noteOf(r).id
	switch r.Header.Get("X-Readonly") {
	case "", "0", "false":
	case "1", "true":
		c.ReadOnly = true
	default:
		return auth.Caller{}, fault.New(fault.InvalidParameter, "header X-Readonly must be 1 or 0").
			Fix("X-Readonly: 1")
	}
	return c, nil
}

// lost answers a request that leads to no tool.
func (s *server) lost(w http.ResponseWriter, r *http.Request, err error) {
	if other := (*otherMethod)(nil); errors.As(err, &other) {
		notAllowed(w, r, other.allowed)
		return
	}
	refuse(w, r, fault.Of(err))
}

// state is what the two pages answer that say whether the server can be used.
type state struct {
	OK       bool              `json:"ok"`
	Data     map[string]string `json:"data"`
	Warnings []tool.Warning    `json:"warnings"`
}

// healthy answers that the process runs.
func (s *server) healthy(w http.ResponseWriter, r *http.Request) { s.is(w, r, "healthy") }

// ready answers whether calls can be served.
func (s *server) ready(w http.ResponseWriter, r *http.Request) {
	if s.opt.Ready != nil {
		if err := s.opt.Ready(r.Context()); err != nil {
			s.opt.Log.WarnContext(r.Context(), "not ready", slog.Any("cause", err))
			refuse(w, r, fault.New(fault.Unavailable, "the server cannot take calls now"))
			return
		}
	}
	s.is(w, r, "ready")
}

func (s *server) is(w http.ResponseWriter, r *http.Request, status string) {
	data, err := tool.Marshal(state{true, map[string]string{"status": status}, []tool.Warning{}})
	if err != nil {
		refuse(w, r, fault.Of(err))
		return
	}
	body(w, http.StatusOK, data)
}

// document answers the description of all routes.
func (s *server) document(w http.ResponseWriter, _ *http.Request) {
	body(w, http.StatusOK, s.opt.Document)
}
