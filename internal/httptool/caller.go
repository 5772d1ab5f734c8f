package httptool

import (
	"errors"
	"log/slog"
	"net/http"
	"slices"

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
	c.RequestID, c.Allowance = noteOf(r).id, new(auth.Allowance)
	switch all := r.Header.Values("X-Readonly"); {
	case len(all) == 0, len(all) == 1 && slices.Contains([]string{"", "0", "false"}, all[0]):
	case len(all) == 1 && (all[0] == "1" || all[0] == "true"):
		c.ReadOnly = true
	default: // also of two headers: one of them was sent to make the call safe
		return auth.Caller{}, fault.New(fault.InvalidParameter, "header X-Readonly must be 1 or 0").
			Fix("X-Readonly: 1")
	}
	return c, nil
}

// lost answers a request that leads to no tool.
func (s *server) lost(w http.ResponseWriter, r *http.Request, err error) {
	if other := (*otherMethod)(nil); errors.As(err, &other) {
		s.notAllowed(w, r, other.allowed)
		return
	}
	s.turnAway(w, r, fault.Of(err))
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
			s.refuse(w, r, fault.New(fault.Unavailable, "the server cannot take calls now"))
			return
		}
	}
	s.is(w, r, "ready")
}

func (s *server) is(w http.ResponseWriter, r *http.Request, status string) {
	data, err := tool.Marshal(state{true, map[string]string{"status": status}, []tool.Warning{}})
	if err != nil {
		s.refuse(w, r, fault.Of(err))
		return
	}
	body(w, http.StatusOK, data)
}

// document answers the description of all routes.
func (s *server) document(described func() ([]byte, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		data, err := described()
		if err != nil {
			s.opt.Log.ErrorContext(r.Context(), "the tools cannot be described", slog.Any("cause", err))
			s.refuse(w, r, fault.Of(err))
			return
		}
		body(w, http.StatusOK, data)
	}
}
