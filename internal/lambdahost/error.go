package lambdahost

import (
	"errors"
	"fmt"
)

// The errors of a call that no process has seen.
var (
	ErrEventTooLarge = errors.New("the event is larger than Lambda takes")
	ErrThrottled     = errors.New("all environments that the function may have are busy")
	ErrClosed        = errors.New("the host is closed")
)

// Types of an Error, as Lambda names them. A function that answers with an error of its own has the type
// that it gave.
const (
	TypeExit       = "Runtime.ExitError"
	TypeTimeout    = "Sandbox.Timedout"
	TypeInit       = "Runtime.InitError"
	TypeEntrypoint = "Runtime.InvalidEntrypoint"
	TypeTooLarge   = "Function.ResponseSizeTooLarge"
	TypeUnknown    = "Unhandled"
)

// An Error is the end of a call that has no answer: the function reported an error, its process ended, or
// its time was over.
type Error struct {
	Type    string `json:"errorType"`
	Message string `json:"errorMessage"`
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("%s: %s", e.Type, e.Message) }
