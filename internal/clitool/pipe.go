package clitool

import (
	"io"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
)

// A pipe is standard input, which a command line can read only once.
type pipe struct {
	*command
	all  bool   // --stdin is given
	used string // what it was read for; empty: not read yet
}

// asksStdin reports whether --stdin is given.
func asksStdin(cmd *cobra.Command) bool {
	_, asked := inputOf(cmd, stdinFlag)
	return asked
}

// fill returns the values of an argument. It replaces them by standard input if a prose argument is
// "-", or if --stdin is given for the argument. A literal "-" must be given in --input.
func (p *pipe) fill(a tool.Arg, values []string) ([]string, error) {
	byFlag := p.all && p.tool.Stdin == a.Name
	switch {
	case byFlag && len(values) > 0:
		return nil, usagef("%s is given twice, also with --%s", a.Name, stdinFlag)
	case !byFlag && (!a.Text || len(values) != 1 || values[0] != "-"):
		return values, nil
	}
	data, err := p.read(a.Name)
	if err != nil {
		return nil, err
	}
	if len(data) == 0 {
		return nil, fault.New(p.tool.Family.Missing, "standard input is empty: %s expected", a.Name).
			With("argument", a.Name)
	}
	if !utf8.Valid(data) { // JSON encoding would change it
		return nil, fault.New(p.tool.Family.Malformed, "standard input is not valid UTF-8").
			With("argument", a.Name)
	}
	return []string{string(data)}, nil
}

// read reads standard input to its end. by is what it is read for; a second read is a usage error.
func (p *pipe) read(by string) ([]byte, error) {
	if p.used != "" {
		return nil, usagef("standard input can be read only once, but %s and %s both read it", p.used, by)
	}
	p.used = by
	data, err := io.ReadAll(io.LimitReader(p.app.In, maxPiped+1))
	if err != nil {
		return nil, fault.New(fault.FileError, "standard input cannot be read").Because(err)
	}
	if len(data) > maxPiped {
		return nil, fault.New(fault.BatchTooLarge, "standard input has more than the %d bytes that a call "+
			"takes", maxPiped)
	}
	return append([]byte{}, data...), nil
}

// maxPiped is the maximum number of bytes read from standard input. It exceeds the limit of a call.
const maxPiped = 2 * tool.MaxBody
