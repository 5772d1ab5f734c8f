// Package doctor is the common part of all examinations: of a data directory or a served folder
// (localapp), of its tenants (tenant) and vaults (repo), of a deployment in AWS (awsops), and of
// the login of a command (cmd/cli).
//
// Each of them supplies checks and their order, because a check needs what only its package knows.
// This package says what a check is and what it finds, words the findings that several of them
// have, and shows a list of findings to a person. It reads nothing and knows no store.
package doctor

import "github.com/rookeryhq/rookery/internal/fault"

// A Finding is one result of a check.
type Finding struct {
	Check   string     `json:"name"`             // name of the check, such as chain
	Tenant  string     `json:"tenant,omitempty"` // empty: the local tenant, or all
	Vault   string     `json:"vault,omitempty"`  // empty: it is not about one vault
	Level   Level      `json:"state"`
	Message string     `json:"message"`        // one line
	Fix     string     `json:"fix,omitempty"`  // the remedy; empty: none
	Code    fault.Code `json:"code,omitempty"` // of the error that calls get; empty: none
}

// A Level says how serious a finding is.
type Level string

// The levels.
const (
	LevelOK      Level = "ok"
	LevelWarning Level = "warn"  // nothing is lost, but something must be done
	LevelError   Level = "error" // data is lost, or something does not work
	LevelSkipped Level = "skipped"
)

// Good returns the finding of a check that found no problem.
func Good(check, message string) Finding {
	return Finding{Check: check, Level: LevelOK, Message: message}
}

// Warning returns the finding of a problem without loss of data. fix is the remedy.
func Warning(check, message, fix string) Finding {
	return Finding{Check: check, Level: LevelWarning, Message: message, Fix: fix}
}

// Skipped returns the finding of a check that could not be made. why is the reason, fix the remedy.
func Skipped(check, why, fix string) Finding {
	return Finding{Check: check, Level: LevelSkipped, Message: why, Fix: fix}
}

// Failure returns the finding of a check that failed with an error. If fix is empty, the first fix
// of the error is used. The reader owns the data, so the causes of internal and temporary errors
// are shown.
func Failure(check string, err error, fix string) Finding {
	found := Refused(check, err)
	f := fault.Of(err)
	if cause := f.Unwrap(); cause != nil {
		switch f.Code {
		case fault.Internal:
			found.Message = cause.Error()
		case fault.Unavailable:
			found.Message += ": " + cause.Error()
		}
	}
	if fix != "" {
		found.Fix = fix
	}
	return found
}

// Refused returns the finding of a check that another program answered with an error: its code, its
// message and its first fix, without causes.
func Refused(check string, err error) Finding {
	f := fault.Of(err)
	found := Finding{Check: check, Level: LevelError, Code: f.Code, Message: f.Message}
	if len(f.Fixes) > 0 {
		found.Fix = f.Fixes[0]
	}
	return found
}
