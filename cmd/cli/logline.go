package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/clitool"
	"github.com/rookeryhq/rookery/internal/fault"
)

// The formats of the log.
const (
	logText = "text"
	logJSON = "json"
)

// logger returns the logger of a server: JSON lines, or short lines for people. Without a format, a
// terminal gets short lines and everything else gets JSON, so a service manager needs no flag.
// Short lines are coloured on a terminal, unless NO_COLOR is set or TERM is dumb. An unknown format
// is INVALID_PARAMETER.
func logger(a *clitool.App, format string) (*slog.Logger, error) {
	switch {
	case format == logJSON, format == "" && !a.Progress:
		return slog.New(slog.NewJSONHandler(a.Err, nil)), nil
	case format == logText, format == "":
		env := a.Env
		if env == nil {
			env = func(string) string { return "" }
		}
		colour := a.Progress && env("NO_COLOR") == "" && env("TERM") != "dumb"
		return slog.New(&lineHandler{out: a.Err, colour: colour, turn: &sync.Mutex{}}), nil
	}
	return nil, fault.New(fault.InvalidParameter, "--log-format must be %s or %s", logText, logJSON).
		With("allowed", []string{logText, logJSON})
}

// A lineHandler writes a record as one short line: the time, the tool or request, its outcome, its
// duration, and then the other attributes as key=value. It omits attributes that are the same in
// most lines, or that only relate lines to each other:
//
//	09:41:07 raven_set ok 3.1ms vault=notes
//	09:41:09 GET /docs 200 2ms
//	09:41:12 ERROR the log could not be compacted vault=notes cause="no space left on device"
//
// Attributes of groups have the names of the groups as a prefix, with dots. WithAttrs and WithGroup
// return a copy; all copies share turn, the mutex of out, so lines are never mixed. It is safe for
// concurrent use.
type lineHandler struct {
	out    io.Writer
	colour bool
	turn   *sync.Mutex

	attrs []slog.Attr
	group string // the prefix of attribute names, with a dot
}

var _ slog.Handler = (*lineHandler)(nil)

// Enabled implements slog.Handler: it reports whether the level is at least info.
func (h *lineHandler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= slog.LevelInfo
}

// WithAttrs implements slog.Handler. The attributes are flattened now and not for each record. The
// slice is cloned, because two handlers that are made from one must not append to the same array.
func (h *lineHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	next := *h
	next.attrs = slices.Clone(h.attrs)
	for _, a := range attrs {
		next.attrs = appendFlat(next.attrs, h.group, a)
	}
	return &next
}

// WithGroup implements slog.Handler.
func (h *lineHandler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	next := *h
	next.group += name + "."
	return &next
}

// Handle implements slog.Handler: it writes the line of a record in one Write, and returns its
// error. The time is local, because people read the line. Attributes without a text are omitted.
func (h *lineHandler) Handle(_ context.Context, r slog.Record) error {
	attrs := slices.Clone(h.attrs)
	r.Attrs(func(a slog.Attr) bool {
		attrs = appendFlat(attrs, h.group, a)
		return true
	})
	var parts []string
	if !r.Time.IsZero() {
		parts = append(parts, h.paint(dim, r.Time.Local().Format("15:04:05")))
	}
	parts = append(parts, h.head(r, &attrs)...)
	for _, a := range attrs {
		if text := textOf(a.Value); text != "" {
			parts = append(parts, a.Key+"="+text)
		}
	}
	h.turn.Lock()
	defer h.turn.Unlock()
	_, err := fmt.Fprintln(h.out, strings.Join(parts, " "))
	return err
}

// The keys of the attributes that have fixed places in a line.
const (
	keyTool, keyCode, keyMS        = "tool", "code", "ms"
	keyMethod, keyRoute, keyStatus = "method", "route", "status"
	keyTenant, keyPrincipal        = "tenant", "principal"
	keyAgent, keyRequest           = "agent", "request_id"
)

// head returns the beginning of a line, and removes the attributes that it contains or makes
// redundant: of a call its tool, code and duration, of a request its method, route and status, and
// otherwise the level, if it is above info, and the message.
//
// The id of a request is kept for an internal error only, where it is needed to find the other
// lines about it. An agent with the name of its principal, the local principal and the local tenant
// say nothing on a machine with one user, so they are removed.
func (h *lineHandler) head(r slog.Record, attrs *[]slog.Attr) []string {
	has := func(key string) bool { return value(*attrs, key) != "" }
	var parts []string
	switch {
	case r.Level > slog.LevelInfo:
		return []string{h.paint(colourOf(r.Level), r.Level.String()), clean(r.Message)}
	case has(keyTool) && has(keyCode):
		code := take(attrs, keyCode)
		parts = []string{take(attrs, keyTool), h.outcome(code), take(attrs, keyMS) + "ms"}
		if code != string(fault.Internal) {
			take(attrs, keyRequest)
		}
	case has(keyMethod) && has(keyStatus):
		parts = []string{take(attrs, keyMethod), take(attrs, keyRoute), take(attrs, keyStatus),
			take(attrs, keyMS) + "ms"}
		take(attrs, keyRequest)
	default:
		return []string{clean(r.Message)}
	}
	principal := value(*attrs, keyPrincipal)
	drop(attrs, keyAgent, principal)
	drop(attrs, keyPrincipal, auth.Local)
	drop(attrs, keyTenant, auth.Local)
	return parts
}

// outcome returns the code of a call, coloured unless the call succeeded: red for an error of the
// server, and yellow for one of the caller.
func (h *lineHandler) outcome(code string) string {
	switch {
	case code == "ok":
		return code
	case fault.Code(code).Status() == fault.StatusInternal:
		return h.paint(red, code)
	}
	return h.paint(yellow, code)
}

// The colours of a terminal (ECMA-48, SGR).
const (
	dim    = "\x1b[2m"
	red    = "\x1b[31m"
	yellow = "\x1b[33m"
	plain  = "\x1b[0m"
)

// colourOf returns the colour of a level above info.
func colourOf(level slog.Level) string {
	if level >= slog.LevelError {
		return red
	}
	return yellow
}

// paint returns a text in a colour, or unchanged if the handler uses no colours.
func (h *lineHandler) paint(colour, text string) string {
	if !h.colour {
		return text
	}
	return colour + text + plain
}

// value returns the text of the first attribute with a key, or "". The key includes the names of
// groups.
func value(attrs []slog.Attr, key string) string {
	i := slices.IndexFunc(attrs, func(a slog.Attr) bool { return a.Key == key })
	if i < 0 {
		return ""
	}
	return textOf(attrs[i].Value)
}

// take removes all attributes with a key, and returns the text of the first, or "".
func take(attrs *[]slog.Attr, key string) string {
	text := value(*attrs, key)
	*attrs = slices.DeleteFunc(*attrs, func(a slog.Attr) bool { return a.Key == key })
	return text
}

// drop removes an attribute if it has this text. It is for values that are the default.
func drop(attrs *[]slog.Attr, key, text string) {
	if value(*attrs, key) == text {
		take(attrs, key)
	}
}

// appendFlat appends an attribute, or those of a group with its name as a prefix. It resolves
// LogValuers, and follows the rules of slog: an attribute without a key and a value is ignored, and
// a group without a name is inlined.
func appendFlat(attrs []slog.Attr, group string, a slog.Attr) []slog.Attr {
	v := a.Value.Resolve()
	if v.Kind() != slog.KindGroup {
		if a.Key == "" && v.Any() == nil {
			return attrs
		}
		return append(attrs, slog.Attr{Key: group + a.Key, Value: v})
	}
	if a.Key != "" {
		group += a.Key + "."
	}
	for _, inner := range v.Group() {
		attrs = appendFlat(attrs, group, inner)
	}
	return attrs
}

// textOf returns a value on one line, in quotes if it contains blanks, quotes or unprintable
// characters, so that a value can neither end early nor control the terminal. An error is shown by
// its message; a fault within it by that of the fault. Milliseconds, which are floating-point
// numbers, have at most one decimal.
func textOf(v slog.Value) string {
	text := v.String()
	if err, ok := v.Any().(error); ok && v.Kind() == slog.KindAny {
		text = err.Error()
		if f := (*fault.Fault)(nil); errors.As(err, &f) {
			text = f.Error()
		}
	}
	if v.Kind() == slog.KindFloat64 {
		text = strconv.FormatFloat(v.Float64(), 'f', decimals(v.Float64()), 64)
	}
	if strings.ContainsFunc(text, odd) {
		return strconv.Quote(text)
	}
	return text
}

// decimals returns the number of decimals to show of a number: one below 10, where it matters.
func decimals(f float64) int {
	if f < 10 {
		return 1
	}
	return 0
}

// odd reports whether a character could end a value, or control a terminal.
func odd(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) || r == '"' }

// clean returns a message without characters that could control a terminal: each is replaced by
// U+FFFD, and so are line feeds, because a record is one line.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}
