package config

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"unicode"
)

// errSize is the error of ParseSize.
var errSize = errors.New("it must be a number of bytes above 0, or one with KiB, MiB or GiB behind it, " +
	"such as 128MiB")

// shifts returns the powers of two of the units, by their names in lower case.
func shifts() map[string]int {
	return map[string]int{"": 0, "b": 0, "kib": 10, "mib": 20, "gib": 30}
}

// ParseSize returns the number of bytes of a size such as 134217728, 128MiB or "1 GiB". Units are
// powers of 1024, and their case is ignored; decimal units such as MB are not known. A size of 0,
// and one that does not fit into an int64, is an error. Flags of the command line use it too.
func ParseSize(text string) (int64, error) {
	text = strings.TrimSpace(text)
	digits := strings.TrimRightFunc(text, func(r rune) bool { return !unicode.IsDigit(r) })
	shift, known := shifts()[strings.ToLower(strings.TrimSpace(text[len(digits):]))]
	n, err := strconv.ParseUint(digits, 10, 63)
	if err != nil || !known || n == 0 || n > math.MaxInt64>>shift {
		return 0, errSize
	}
	return int64(n) << shift, nil
}
