package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/rookeryhq/rookery/internal/clitool"
	"github.com/rookeryhq/rookery/internal/credential"
	"github.com/rookeryhq/rookery/internal/fault"
)

// maxToken is the largest size of a token in bytes. A larger one does not fit into a header. Input
// is read to a few bytes more, so that a longer text is refused and not cut.
const maxToken = 16 << 10

// fromStdin is the value of --token that selects standard input. It is also the default, because a
// token on the command line is visible to other users of the machine.
const fromStdin = "-"

// readToken returns the token that a user gives: as text, from standard input, or typed on a
// terminal that does not show it. Blanks around it are removed. It returns UNAVAILABLE if the
// program is interrupted, FILE_ERROR if the input cannot be read, and INVALID_PARAMETER for a text
// that cannot be a token. Errors contain no part of the token.
func readToken(
	ctx context.Context, app *clitool.App, given string, server credential.Server,
) (string, error) {
	text := []byte(given)
	var err error
	switch f, ok := app.In.(*os.File); {
	case given != fromStdin:
	case ok && term.IsTerminal(int(f.Fd())):
		text, err = typed(ctx, app, f, server)
	default:
		text, err = io.ReadAll(io.LimitReader(app.In, maxToken+2))
	}
	switch {
	case ctx.Err() != nil:
		return "", fault.New(fault.Unavailable, "interrupted").Because(ctx.Err())
	case err != nil:
		return "", fault.New(fault.FileError, "the token cannot be read").Because(err)
	}
	return checkToken(strings.TrimSpace(string(text)), server)
}

// checkToken refuses a text that cannot be a token, because it would not fit into the header of a
// call: it must be printable ASCII without spaces. The usual reason is a file with other content,
// or with two lines. The fix is a command line that reads the token from a file.
func checkToken(token string, server credential.Server) (string, error) {
	pipe := "rookery login --server " + server.URL + " --token - < FILE"
	if token == "" {
		return "", fault.New(fault.InvalidParameter, "no token was given").Fix("%s", pipe)
	}
	odd := func(r rune) bool { return r <= ' ' || r > '~' }
	if len(token) > maxToken || strings.ContainsFunc(token, odd) {
		return "", fault.New(fault.InvalidParameter, "the input is not a token: a token is "+
			"printable ASCII without spaces, at most %d characters", maxToken).Fix("%s", pipe)
	}
	return token, nil
}

// typed asks for a token on a terminal, which does not show it. If the program is interrupted
// meanwhile, it restores the terminal: term.ReadPassword has turned echo off and does not return on
// a signal, so without this the shell would stay without echo. The goroutine that reads remains
// until the process ends.
func typed(
	ctx context.Context, app *clitool.App, terminal *os.File, server credential.Server,
) ([]byte, error) {
	fd := int(terminal.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return nil, err
	}
	if _, err := fmt.Fprintf(app.Err, "Token for %s (hidden): ", server.URL); err != nil {
		return nil, err
	}
	type answer struct {
		text []byte
		err  error
	}
	read := make(chan answer, 1)
	go func() {
		text, err := term.ReadPassword(fd)
		read <- answer{text, err}
	}()
	var got answer
	select {
	case got = <-read:
	case <-ctx.Done():
		got.err = errors.Join(ctx.Err(), term.Restore(fd, before))
	}
	_, _ = fmt.Fprintln(app.Err) // ends the line of the question
	return got.text, got.err
}
