package main

import (
	"fmt"

	"github.com/spf13/pflag"

	"github.com/rookeryhq/rookery/internal/config"
)

// A byteSize is a number of bytes as a flag, written in bytes or in KiB, MiB or GiB. A flag without
// a default is 0 if it was not given. Set accepts no 0, so 0 cannot be given to mean "no limit".
type byteSize int64

var _ pflag.Value = (*byteSize)(nil)

// Set parses a size such as 134217728, 128MiB or "1 GiB", by the same rules as the keys of a
// server's configuration file.
func (b *byteSize) Set(text string) error {
	n, err := config.ParseSize(text)
	if err == nil {
		*b = byteSize(n)
	}
	return err
}

// String returns the size in the largest unit of which it is a whole number. Set parses the text of
// a positive size to the same size. Help shows it as the default of the flag.
func (b *byteSize) String() string {
	n, unit := *b, 0
	for unit < 3 && n > 0 && n%1024 == 0 {
		n, unit = n/1024, unit+1
	}
	return fmt.Sprintf("%d%s", n, []string{"", "KiB", "MiB", "GiB"}[unit])
}

// Type returns the name of a size in help texts.
func (b *byteSize) Type() string { return "SIZE" }
