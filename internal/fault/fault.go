// Package fault defines the errors that callers see (CONTRACT §2).
//
// A Fault has a Code, which identifies the failure; a Status, which tells the caller how to react;
// and fixes. Every other error is internal: Of replaces it by an INTERNAL fault that reveals
// nothing about it, and keeps the error as the cause, for the log.
//
// Methods that return a changed Fault copy it first, so a Fault can be shared.
package fault

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"
)

// A Fault is an error that a caller can read and act on. It must never contain the text of a note,
// a token, or an absolute path.
type Fault struct {
	Code       Code
	Message    string         // the error, and the expected value
	Details    map[string]any // for programs; CONTRACT defines the keys of each code
	Location   *Location      // in the vault; nil: the fault is not about a text
	FailedAt   *int           // index of the first operation of a batch that failed; nil: not a batch
	Errors     []*Fault       // the individual problems, if a call has several
	Fixes      []string       // possible remedies: the text form of a Call, or advice in a sentence
	RetryAfter time.Duration  // delay after which the same call may succeed; 0: unknown

	// RequestID identifies the call in the log. The catalogue sets it on the fault that it returns.
	RequestID string

	// BodyTooLarge says that the request body as a whole exceeds its limit. The HTTP status is then
	// 413 instead of that of the code.
	BodyTooLarge bool

	cause error
}

// A Location is a position in a file of the vault.
type Location struct {
	File string `json:"file"`           // relative to the vault
	Line int    `json:"line,omitempty"` // from 1; 0: the whole file
}

// New returns a fault with a code and a formatted message.
func New(code Code, format string, args ...any) *Fault {
	return &Fault{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Error returns the code and the message, for logs. Callers see the JSON form instead.
func (f *Fault) Error() string { return string(f.Code) + ": " + f.Message }

// Unwrap returns the internal cause, or nil if there is none.
func (f *Fault) Unwrap() error { return f.cause }

// Err returns the fault as an error, which is nil for a nil fault; see Join.
func (f *Fault) Err() error {
	if f == nil {
		return nil
	}
	return f
}

// Status returns the class of the fault's code.
func (f *Fault) Status() Status { return f.Code.Status() }

// With returns a copy of the fault with an additional detail.
func (f *Fault) With(key string, value any) *Fault {
	g := *f
	g.Details = maps.Clone(f.Details)
	if g.Details == nil {
		g.Details = map[string]any{}
	}
	g.Details[key] = value
	return &g
}

// At returns a copy of the fault with a location in the vault. Line 0 means the whole file.
func (f *Fault) At(file string, line int) *Fault {
	g := *f
	g.Location = &Location{File: file, Line: line}
	return &g
}

// Fix returns a copy of the fault with an additional fix: advice in a sentence. Use Try for a fix
// that is a call.
func (f *Fault) Fix(format string, args ...any) *Fault {
	g := *f
	g.Fixes = append(append([]string(nil), f.Fixes...), fmt.Sprintf(format, args...))
	return &g
}

// OnServer returns a copy of the fault with the advice to run a rookery command on the server's
// machine. Only its operator can do that.
func (f *Fault) OnServer(command string) *Fault {
	return f.Fix("on the machine of the server, run: rookery %s", command)
}

// After returns a copy of the fault with a delay after which the call may be repeated.
func (f *Fault) After(d time.Duration) *Fault {
	g := *f
	g.RetryAfter = d
	return &g
}

// Because returns a copy of the fault with an internal cause, which only the log shows.
func (f *Fault) Because(err error) *Fault {
	g := *f
	g.cause = err
	return &g
}

// Is reports whether err is or wraps a fault with this code.
func Is(err error, code Code) bool {
	var f *Fault
	return errors.As(err, &f) && f.Code == code
}

// Of returns the fault that err is or wraps. For any other error, and for nil, it returns an
// INTERNAL fault with err as its cause.
func Of(err error) *Fault {
	var f *Fault
	if errors.As(err, &f) {
		return f
	}
	return New(Internal, "something went wrong on our side; the request id names it in the log").
		Because(err)
}

// MaxProblems is the maximum number of problems of a call that a fault lists.
const MaxProblems = 20

// Join combines the problems of one call into one fault. It returns nil for no problems, and the
// problem itself if there is one. Otherwise it returns a fault with the given code that lists the
// first MaxProblems of them, and whose message contains that of the first one. The message of
// VALIDATION_FAILED, which a document fixes, only counts them; see Summary.
func Join(code Code, problems []*Fault) *Fault {
	return JoinFirst(code, problems, len(problems))
}

// JoinFirst is Join for a call with n problems of which only the first min(n, MaxProblems) must be
// given.
func JoinFirst(code Code, problems []*Fault, n int) *Fault {
	switch n {
	case 0:
		return nil
	case 1:
		return problems[0]
	}
	f := New(code, "%d problems found", n)
	if code == ValidationFailed {
		f.Message = fmt.Sprintf("%d validation errors found", n)
	}
	if n > MaxProblems {
		f.Message += fmt.Sprintf("; the first %d are listed", MaxProblems)
	}
	f.Errors = problems[:min(n, MaxProblems)]
	if code != ValidationFailed {
		f.Message = f.Summary()
	}
	return f
}

// Summary returns the message of the fault and, if it lists several problems, that of the first one:
// for a place where the list is not shown.
func (f *Fault) Summary() string {
	if len(f.Errors) == 0 {
		return f.Message
	}
	first := "; first: " + f.Errors[0].Message
	return strings.TrimSuffix(f.Message, first) + first
}

// NoVault returns the NOT_FOUND fault of a vault. It is the same, byte for byte, whether the vault
// does not exist or the caller is not allowed to see it. A name longer than 63 bytes is not echoed.
func NoVault(name string) *Fault {
	f := New(NotFound, "no vault of that name")
	if len(name) <= 63 {
		f = New(NotFound, "no vault %q", name)
	}
	return f.Try("team_vault_list", nil).Because(errNoVault)
}

// errNoVault is the cause of every NoVault; LacksVault looks for it.
var errNoVault = errors.New("there is no such vault")

// LacksVault reports whether err is or wraps a fault that NoVault returned.
func LacksVault(err error) bool { return errors.Is(err, errNoVault) }
