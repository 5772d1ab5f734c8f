package fault

import (
	"fmt"
	"runtime/debug"
)

// Panicked returns the error of a recovered panic: where it happened, such as "in a job", the type
// of p and the stack. It omits the value of p, which may contain text of a note. It must be called
// by the deferred function that recovers, so that the stack is that of the panic.
func Panicked(where string, p any) error {
	return fmt.Errorf("panic %s: %T\n%s", where, p, debug.Stack())
}
