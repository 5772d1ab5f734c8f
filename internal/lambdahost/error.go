package lambdahost

import (
	"errors"
	"fmt"
)

// Errors of a call that no process has received.
var (
	ErrEventTooLarge = errors.New("the event is larger than Lambda takes")
	ErrThrottled     = errors.New("all environments that the function may have are busy")
	ErrClosed        = errors.New("the host is closed")
)

// The types of an Error, as Lambda names them. The error that a function reports has its own type.
const (
	TypeExit       = "Runtime.ExitError"
	TypeTimeout    = "Sandbox.Timedout"
	TypeInit       = "Runtime.InitError"
	TypeEntrypoint = "Runtime.InvalidEntrypoint"
	TypeTooLarge   = "Function.ResponseSizeTooLarge"
	TypeUnknown    = "Unhandled"
)

// An Error is the end of a call without an answer: the function reported an error, its process
// ended, or its timeout was exceeded. Its JSON is that of the Runtime API.
type Error struct {
	Type    string `json:"errorType"`
	Message string `json:"errorMessage"`
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("%s: %s", e.Type, e.Message) }
