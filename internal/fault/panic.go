package fault

import (
	"fmt"
	"runtime/debug"
)

// Panicked is the error of a panic that was recovered: where it was, such as "in a job", its type and the stack, and not
// what it says, which may be of a note. It is called by the function that recovers.
func Panicked(where string, p any) error {
	return fmt.Errorf("panic %s: %T\n%s", where, p, debug.Stack())
}
