package httptool

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"rookery/internal/access"
	"rookery/internal/fault"
	"rookery/internal/payload"
	"rookery/internal/tool"
)

// An answer is what a call came to.
type answer struct {
	data json.RawMessage // the envelope
	err  error           // nil, or a fault
	bare bool            // the caller wants what is in the envelope, without it
}

// sealed is an envelope as it is read here.
type sealed struct {
	Data     json.RawMessage `json:"data"`
	Error    json.RawMessage `json:"error"`
	Warnings []tool.Warning  `json:"warnings"`
	Meta     struct {
		Version string `json:"version"`
	} `json:"meta"`
}

// write answers a request.
func (s *server) write(w http.ResponseWriter, r *http.Request, a answer) {
	var f *fault.Fault
	if a.err != nil {
		f = fault.Of(a.err)
	}
	if f != nil && len(a.data) == 0 {
		s.refuse(w, r, f)
		return
	}
	var e sealed
	if err := json.Unmarshal(a.data, &e); err != nil {
		s.refuse(w, r, fault.Of(fmt.Errorf("read the envelope: %w", err)))
		return
	}
	if e.Meta.Version != "" {
		w.Header().Set("ETag", `"`+e.Meta.Version+`"`)
	}
	if a.bare {
		a.data = e.Data
		if f != nil {
			a.data = bareOf(s.family(r), f, e.Error)
		}
		if text := warningsHeader(e.Warnings); text != "" {
			w.Header().Set("X-Warnings", text)
		}
	}
	s.send(w, r, f, a.data)
}

// bareOf is what a failed call answers in the bare form of a family; sent is the `error` of the envelope,
// which families without a form of their own answer.
func bareOf(family *tool.Family, f *fault.Fault, sent json.RawMessage) json.RawMessage {
	if family == nil || family.Bare == nil {
		return sent
	}
	data, err := tool.Marshal(family.Bare(f))
	if err != nil {
		return sent
	}
	return data
}

// family is that of the tool that a request is about; nil: there is none.
func (s *server) family(r *http.Request) *tool.Family {
	if t := noteOf(r).tool; t != nil {
		return t.Family
	}
	return nil
}

// refuse answers a request that no tool sees.
func (s *server) refuse(w http.ResponseWriter, r *http.Request, f *fault.Fault) {
	g := *f
	g.RequestID = noteOf(r).id
	s.send(w, r, &g, tool.Refusal(&g, s.family(r)))
}

// turnAway refuses a request whose body nobody has read, nor will: else the answer would wait until the body
// is there, for as long as its sender likes.
func (s *server) turnAway(w http.ResponseWriter, r *http.Request, f *fault.Fault) {
	unread(w, r)
	s.refuse(w, r, f)
}

func unread(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength != 0 {
		payload.Leave(w, r)
	}
}

// notAllowed answers a request to a path that has other methods. Whatever takes GET takes HEAD.
func (s *server) notAllowed(w http.ResponseWriter, r *http.Request, allowed []string) {
	if slices.Contains(allowed, http.MethodGet) {
		allowed = append(slices.Clone(allowed), http.MethodHead)
		slices.Sort(allowed)
	}
	list := strings.Join(allowed, ", ")
	w.Header().Set("Allow", list)
	unread(w, r)
	f := fault.New(fault.InvalidParameter, "this path takes no such method").
		With("allowed", allowed).Fix("use %s", list)
	f.RequestID = noteOf(r).id
	noteOf(r).code = f.Code
	body(w, http.StatusMethodNotAllowed, tool.Refusal(f, nil))
}

// send writes an answer with the status and the headers that its fault asks for.
func (s *server) send(
	w http.ResponseWriter, r *http.Request, f *fault.Fault, data json.RawMessage,
) {
	if f == nil {
		body(w, http.StatusOK, data)
		return
	}
	noteOf(r).code = f.Code
	if wait := waitOf(f); wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
	}
	s.challenge(w, r, f)
	body(w, f.HTTP(), data)
}

// challenge says which token would do, where one is what is missing.
func (s *server) challenge(w http.ResponseWriter, r *http.Request, f *fault.Fault) {
	sent := access.Sent(r.Header)
	if c := s.opt.Resource.Challenge("", f, sent); c != "" {
		w.Header().Set("WWW-Authenticate", c)
	}
	if f.Status() == fault.StatusUnauthenticated {
		s.opt.Meter.Refused(access.Unauthenticated(f, sent))
	}
}

// waitOf is how long to wait before the same call. What is unavailable, or refused for its rate, is
// worth a second if nobody knows better.
func waitOf(f *fault.Fault) time.Duration {
	again := f.Status() == fault.StatusUnavailable || f.Status() == fault.StatusRateLimited
	if f.RetryAfter == 0 && again {
		return time.Second
	}
	return f.RetryAfter
}

func body(w http.ResponseWriter, status int, data []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(data) // the caller has gone: there is nobody left to tell
}

// maxWarnings is the number of bytes that the warnings of a bare answer may take in its header.
const maxWarnings = 4 << 10

// warningsHeader is as many of the warnings as a header can hold, as a list in ASCII; empty if
// there are none.
func warningsHeader(all []tool.Warning) string {
	var entries []string
	room := maxWarnings
	for i, warning := range all {
		entry := ascii(warning)
		if room -= len(entry) + 1; room < 0 {
			cut := tool.Warning{Code: "WARNINGS_TRUNCATED",
				Message: fmt.Sprintf("only the first %d of %d warnings are listed", i, len(all)),
				Fields:  map[string]any{"total": len(all)}}
			entries = append(entries, ascii(cut))
			break
		}
		entries = append(entries, entry)
	}
	if len(entries) == 0 {
		return ""
	}
	return "[" + strings.Join(entries, ",") + "]"
}

// ascii is a warning as JSON in which all other letters are escaped, as a header needs it.
func ascii(w tool.Warning) string {
	data, err := tool.Marshal(w)
	if err != nil {
		return "{}"
	}
	var b strings.Builder
	for _, c := range string(data) {
		switch {
		case c < 0x7F:
			b.WriteRune(c)
		case c > 0xFFFF:
			c -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xD800+c>>10, 0xDC00+c&0x3FF)
		default:
			fmt.Fprintf(&b, `\u%04x`, c)
		}
	}
	return b.String()
}
