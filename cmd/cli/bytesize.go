package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"

	"github.com/spf13/pflag"
)

// A byteSize is a number of bytes as a flag: in bytes, or in KiB, MiB or GiB. It is never zero.
type byteSize int64

var _ pflag.Value = (*byteSize)(nil)

// shifts are how many bits a unit is beyond a byte, by its name in lower case.
func shifts() map[string]int {
	return map[string]int{"": 0, "b": 0, "kib": 10, "mib": 20, "gib": 30}
}

// Set takes a size such as 134217728, 128MiB or "1 GiB".
func (b *byteSize) Set(text string) error {
	text = strings.TrimSpace(text)
	digits := strings.TrimRightFunc(text, func(r rune) bool { return !unicode.IsDigit(r) })
	shift, known := shifts()[strings.ToLower(strings.TrimSpace(text[len(digits):]))]
	n, err := strconv.ParseUint(digits, 10, 63)
	if err != nil || !known || n == 0 || n > math.MaxInt64>>shift {
		return errors.New("it must be a number of bytes above 0, or one with KiB, MiB or GiB behind " +
			"it, such as 128MiB")
	}
	*b = byteSize(n << shift)
	return nil
}

// String is the size in the largest unit of which it is a whole number.
func (b *byteSize) String() string {
	n, unit := *b, 0
	for unit < 3 && n > 0 && n%1024 == 0 {
		n, unit = n/1024, unit+1
	}
	return fmt.Sprintf("%d%s", n, []string{"", "KiB", "MiB", "GiB"}[unit])
}

// Type is what help calls a size.
func (b *byteSize) Type() string { return "SIZE" }
