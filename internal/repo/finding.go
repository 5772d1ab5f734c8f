package repo

import "rookery/internal/fault"

// A Finding is what one check of a doctor found, of a whole data directory or of one vault.
type Finding struct {
	Check   string     `json:"name"`
	Tenant  string     `json:"tenant,omitempty"` // empty: the local one, or all
	Vault   string     `json:"vault,omitempty"`
	State   Health     `json:"state"`
	Message string     `json:"message"`
	Fix     string     `json:"fix,omitempty"`  // what to do
	Code    fault.Code `json:"code,omitempty"` // of an error: what a call that meets it answers
}

// Health says how what was checked is.
type Health string

// The states of what was checked.
const (
	Healthy   Health = "ok"
	Worrying  Health = "warn"  // nothing is lost, and something is to be done
	Broken    Health = "error" // something is lost, or does not work
	Unchecked Health = "skipped"
)

// Good is the finding of a check that found nothing wrong.
func Good(check, message string) Finding {
	return Finding{Check: check, State: Healthy, Message: message}
}

// Warning is the finding of something to be done, which is said in fix.
func Warning(check, message, fix string) Finding {
	return Finding{Check: check, State: Worrying, Message: message, Fix: fix}
}

// Skipped is the finding of a check that could not be made, and why.
func Skipped(check, why, fix string) Finding {
	return Finding{Check: check, State: Unchecked, Message: why, Fix: fix}
}

// Failure is the finding of what fails with an error. fix is what to do, unless it is empty: then it is
// what the fault says.
func Failure(check string, err error, fix string) Finding {
	f := fault.Of(err)
	message := f.Message
	if cause := f.Unwrap(); cause != nil { // a doctor is asked by the owner of the data
		switch f.Code {
		case fault.Internal:
			message = cause.Error()
		case fault.Unavailable:
			message += ": " + cause.Error()
		}
	}
	if fix == "" && len(f.Fixes) > 0 {
		fix = f.Fixes[0]
	}
	return Finding{Check: check, State: Broken, Message: message, Fix: fix, Code: f.Code}
}
