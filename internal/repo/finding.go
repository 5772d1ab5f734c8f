package repo

import "github.com/rookeryhq/rookery/internal/fault"

// A Finding is the result of one check of a data directory or of one vault.
type Finding struct {
	// Check is the name of the check, for example "chain".
	Check  string `json:"name"`
	Tenant string `json:"tenant,omitempty"` // empty: the local tenant, or all
	Vault  string `json:"vault,omitempty"`
	State  Health `json:"state"`
	// Message describes the finding in one line.
	Message string     `json:"message"`
	Fix     string     `json:"fix,omitempty"`  // the remedy; empty: none
	Code    fault.Code `json:"code,omitempty"` // the error code that calls get; empty: no error
}

// A Health is the outcome of a check.
type Health string

// The outcomes of a check.
const (
	Healthy   Health = "ok"
	Worrying  Health = "warn"  // nothing is lost, but something must be done
	Broken    Health = "error" // data is lost, or something does not work
	Unchecked Health = "skipped"
)

// Good returns the finding of a check that found no problem.
func Good(check, message string) Finding {
	return Finding{Check: check, State: Healthy, Message: message}
}

// Warning returns the finding of a problem without loss of data. fix is the remedy.
func Warning(check, message, fix string) Finding {
	return Finding{Check: check, State: Worrying, Message: message, Fix: fix}
}

// Skipped returns the finding of a check that could not be made. why is the reason, fix the remedy.
func Skipped(check, why, fix string) Finding {
	return Finding{Check: check, State: Unchecked, Message: why, Fix: fix}
}

// Failure returns the finding of a check that failed with an error. If fix is empty, the first fix
// of the error is used.
func Failure(check string, err error, fix string) Finding {
	f := fault.Of(err)
	message := f.Message
	if cause := f.Unwrap(); cause != nil { // the reader owns the data, so causes may be shown
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
