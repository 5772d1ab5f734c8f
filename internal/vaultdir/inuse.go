package vaultdir

import "github.com/rookeryhq/rookery/internal/fault"

// An InUse is the error for a folder that another process serves, with a state in the home of the
// caller. The address of its server may be in that state.
type InUse struct {
	State string // directory of the state
}

// Error returns the message of the fault.
func (e *InUse) Error() string { return e.Fault().Message }

// Fault returns the UNAVAILABLE error, with a hint.
func (e *InUse) Fault() *fault.Fault {
	return fault.New(fault.Unavailable, "another process serves the folder").
		Fix("end that process, or wait until it has ended")
}

// Unwrap returns the fault, so that fault.Of finds it.
func (e *InUse) Unwrap() error { return e.Fault() }
