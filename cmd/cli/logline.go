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

	"rookery/internal/auth"
	"rookery/internal/clitool"
	"rookery/internal/fault"
)

// The forms of the log.
const (
	logText = "text"
	logJSON = "json"
)

// logger writes the log of a server: JSON for programs, or short lines for a person. Without a
// format, a terminal gets lines.
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

// A lineHandler writes a record as one short line: the time, what was called, its outcome, how long
// it took, and after that what else the record has. What is the same in most lines, and what only
// joins lines with others, is left out.
type lineHandler struct {
	out    io.Writer
	colour bool
	turn   *sync.Mutex

	attrs []slog.Attr
	group string // before the names of attributes, with a dot
}

var _ slog.Handler = (*lineHandler)(nil)

// Enabled reports whether the level is worth a line.
func (h *lineHandler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= slog.LevelInfo
}

// WithAttrs returns a handler whose lines have these attributes, too.
func (h *lineHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	next := *h
	next.attrs = slices.Clone(h.attrs)
	for _, a := range attrs {
		next.attrs = appendFlat(next.attrs, h.group, a)
	}
	return &next
}

// WithGroup returns a handler whose further attributes are of a group.
func (h *lineHandler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	next := *h
	next.group += name + "."
	return &next
}

// Handle writes the line of a record.
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

// The keys of the attributes that a line shows in an order of its own.
const (
	keyTool, keyCode, keyMS        = "tool", "code", "ms"
	keyMethod, keyRoute, keyStatus = "method", "route", "status"
	keyTenant, keyPrincipal        = "tenant", "principal"
	keyAgent, keyRequest           = "agent", "request_id"
)

// head is the beginning of a line, without the attributes that it shows or makes superfluous: of a
// call its tool, code and duration, of a request its method, route and status, of anything else the
// level and the message.
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

// outcome is the code of a call, in a colour unless all went well.
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

func colourOf(level slog.Level) string {
	if level >= slog.LevelError {
		return red
	}
	return yellow
}

func (h *lineHandler) paint(colour, text string) string {
	if !h.colour {
		return text
	}
	return colour + text + plain
}

// value is the text of an attribute; empty if there is none.
func value(attrs []slog.Attr, key string) string {
	i := slices.IndexFunc(attrs, func(a slog.Attr) bool { return a.Key == key })
	if i < 0 {
		return ""
	}
	return textOf(attrs[i].Value)
}

// take removes an attribute, and returns its text.
func take(attrs *[]slog.Attr, key string) string {
	text := value(*attrs, key)
	*attrs = slices.DeleteFunc(*attrs, func(a slog.Attr) bool { return a.Key == key })
	return text
}

// drop removes an attribute that has this text.
func drop(attrs *[]slog.Attr, key, text string) {
	if value(*attrs, key) == text {
		take(attrs, key)
	}
}

// appendFlat adds an attribute, or those of a group with its name before theirs.
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

// textOf is a value on one line, in quotes where it has blanks.
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

// decimals is how many decimals of a number are worth showing.
func decimals(f float64) int {
	if f < 10 {
		return 1
	}
	return 0
}

// odd reports whether a character would end a value, or steer a terminal.
func odd(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) || r == '"' }

// clean is a message without what would steer a terminal.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}
