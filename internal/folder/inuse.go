package folder

import "rookery/internal/fault"

// InUse says that another process has the folder, with a state that is one of ours: the address of
// its server may stand there.
type InUse struct {
	State string // the directory of the state
}

// Error says what to do.
func (e *InUse) Error() string { return e.Fault().Message }

// Fault is UNAVAILABLE, with what to do.
func (e *InUse) Fault() *fault.Fault {
	return fault.New(fault.Unavailable, "another process serves the folder").
		Fix("end that process, or wait until it has ended")
}

// Unwrap lets every caller see the fault.
func (e *InUse) Unwrap() error { return e.Fault() }
