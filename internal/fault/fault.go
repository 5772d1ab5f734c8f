// Package fault is Rookery's one vocabulary of failure (CONTRACT §2).
//
// A Fault says what happened (its Code), what a caller can do about it (its Status), and how to put
// it right. Everything that is not a Fault is internal: Of turns it into one that says nothing of
// what it was, and keeps the cause for the log.
package fault

import (
	"errors"
	"fmt"
	"maps"
	"time"
)

// A Fault is a failure that a caller can read and act on. It never holds the text of a note, a
// token, or an absolute path.
type Fault struct {
	Code       Code
	Message    string         // what was wrong, and what would be right
	Details    map[string]any // for programs; the keys are those of the document that asks for them
	Location   *Location      // where in the vault, if the fault is about a text
	FailedAt   *int           // of a batch: the index of the first operation that failed; nil: it is no batch
	Errors     []*Fault       // the single problems, where a call had several
	Fixes      []string       // each one thing to do: the text of a Call, or advice in a sentence
	RetryAfter time.Duration  // how long to wait before the same call may succeed; 0: not known

	// RequestID names the call in the log. The catalogue sets it on the fault that it answers.
	RequestID string

	// BodyTooLarge says that the body of the call, not a thing in it, is over its limit. Over HTTP
	// it is 413 where the code alone would be 400.
	BodyTooLarge bool

	cause error
}

// A Location is a place in a file of the vault.
type Location struct {
	File string `json:"file"`           // relative to the vault
	Line int    `json:"line,omitempty"` // counted from 1; 0: the file as a whole
}

// New makes a fault of any code. The functions named for a code are shorter where there is one.
func New(code Code, format string, args ...any) *Fault {
	return &Fault{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Error is the code and the message. It is what a log line shows; callers get the JSON form.
func (f *Fault) Error() string { return string(f.Code) + ": " + f.Message }

// Unwrap is the internal cause, nil for most faults.
func (f *Fault) Unwrap() error { return f.cause }

// Status says what a caller can do about the fault.
func (f *Fault) Status() Status { return f.Code.Status() }

// With returns a copy of the fault with one more detail.
func (f *Fault) With(key string, value any) *Fault {
	g := *f
	g.Details = maps.Clone(f.Details)
	if g.Details == nil {
		g.Details = map[string]any{}
	}
	g.Details[key] = value
	return &g
}

// At returns a copy of the fault that says where in the vault it is. Line 0 is the whole file.
func (f *Fault) At(file string, line int) *Fault {
	g := *f
	g.Location = &Location{File: file, Line: line}
	return &g
}

// Fix returns a copy of the fault with one more advice. A fix that is a call is added by Try.
func (f *Fault) Fix(format string, args ...any) *Fault {
	g := *f
	g.Fixes = append(append([]string(nil), f.Fixes...), fmt.Sprintf(format, args...))
	return &g
}

// OnServer returns a copy of the fault with the advice to run a command where the server is. Only who
// operates it can do that.
func (f *Fault) OnServer(command string) *Fault {
	return f.Fix("on the machine of the server, run: rookery %s", command)
}

// After returns a copy of the fault that says when to try again.
func (f *Fault) After(d time.Duration) *Fault {
	g := *f
	g.RetryAfter = d
	return &g
}

// Because returns a copy of the fault with an internal cause. Only the log shows it.
func (f *Fault) Because(err error) *Fault {
	g := *f
	g.cause = err
	return &g
}

// Is reports whether err is, or wraps, a fault of this code.
func Is(err error, code Code) bool {
	var f *Fault
	return errors.As(err, &f) && f.Code == code
}

// Of is the fault in err. An error that holds none is INTERNAL: its text stays inside.
func Of(err error) *Fault {
	var f *Fault
	if errors.As(err, &f) {
		return f
	}
	return New(Internal, "something went wrong on our side; the request id names it in the log").
		Because(err)
}

// MaxProblems is how many of the problems of a call are told.
const MaxProblems = 20

// Join makes one fault of several problems of one call: the problem itself if there is one, else a
// fault of the given code that holds them, the first MaxProblems of more. It is nil for no problems.
func Join(code Code, problems []*Fault) *Fault {
	return JoinFirst(code, problems, len(problems))
}

// JoinFirst is Join for a call with n problems, of which only the first need to be given: MaxProblems, or
// all if there are fewer.
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
	return f
}

// NoVault is the fault of a vault that does not exist, and, byte for byte, of one that the caller
// may not see.
func NoVault(name string) *Fault {
	f := New(NotFound, "no vault of that name")
	if len(name) <= 63 {
		f = New(NotFound, "no vault %q", name)
	}
	return f.Try("team_vault_list", nil).Because(errNoVault)
}

// errNoVault is the cause of NoVault.
var errNoVault = errors.New("there is no such vault")

// LacksVault reports whether err is, or wraps, NoVault.
func LacksVault(err error) bool { return errors.Is(err, errNoVault) }
