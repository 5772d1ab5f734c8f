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

// maxToken is the largest size of a token in bytes. A larger one does not fit into a header.
const maxToken = 16 << 10

// fromStdin selects a token from standard input.
const fromStdin = "-"

// readToken returns the token that a user gives: as text, from standard input, or typed on a
// terminal that does not show it. Errors contain no part of it.
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
// call.
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
// meanwhile, it restores the terminal.
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
