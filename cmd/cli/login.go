package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/rookeryhq/rookery/internal/clitool"
	"github.com/rookeryhq/rookery/internal/credential"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/httptool"
)

// A login is the command that stores a token for a server and makes this server the default of
// later commands. token is the value of its own flag --token, which replaces the global one: here
// the token is data, not the proof of the caller. file is set if the keyring must not be used.
type login struct {
	app   *clitool.App
	token string
	file  bool
}

// command returns the command. NoOptDefVal lets --token have no value, so that `login --token` and
// `login` both read standard input. A consequence is that `--token TOKEN` leaves TOKEN as a word,
// which words and run accept.
func (l *login) command() *cobra.Command {
	c := &cobra.Command{
		Use:   "login [--token [TOKEN|-]]",
		Short: "Store a token for a server, and send commands there",
		Long: "Store a token for a server, and send commands there from now on. The token is " +
			"checked with the\nserver first; a token that it does not accept is not stored. The " +
			"token is stored in the keyring of\nthe machine, or without a keyring in a file " +
			"that only you can read. It is never sent to another\nserver.\n\nThe token is read " +
			"from standard input, or prompted for on a terminal without echo. A token on " +
			"the\ncommand line works too, but it stays in the history of the shell, and others " +
			"can see it in the\nprocess list.",
		Example: "rookery login --server https://memory.example.test\n" +
			"rookery login --server https://memory.example.test --token - < token.txt",
		Args: l.words,
		RunE: l.run,

		ValidArgsFunction: cobra.NoFileCompletions,
	}
	clitool.Uses(c, "server", "json", "bare", "envelope")
	flags := c.Flags()
	flags.StringVar(&l.token, "token", fromStdin, "the `TOKEN`, or - to read it from standard input")
	flags.Lookup("token").NoOptDefVal = fromStdin
	flags.Lookup("token").DefValue = ""
	flags.BoolVar(&l.file, "file", false, "store the token in the file, even if there is a "+
		"keyring")
	return c
}

// words accepts one word after --token. Its errors do not repeat the word, because it may be a
// token; cobra's own check would print it.
func (l *login) words(c *cobra.Command, words []string) error {
	switch flag := c.Flags().Lookup("token"); {
	case len(words) == 0:
	case len(words) > 1, l.token != fromStdin:
		return fmt.Errorf("login accepts one token, and there is another argument")
	case !flag.Changed:
		return fmt.Errorf("pass the token with --token, or better on standard input")
	}
	return nil
}

// run reads the token, checks it with the server, and only then stores it: a wrong token is never
// stored, and the message names the account that commands will have from now on. A server without
// authentication is refused, because a stored token would suggest protection that does not exist.
func (l *login) run(c *cobra.Command, words []string) error {
	server, err := l.server(c)
	if err != nil {
		return err
	}
	ctx, given := c.Context(), l.token
	if len(words) > 0 {
		given = words[0]
		if given != fromStdin {
			l.app.WarnToken()
		}
	}
	token, err := readToken(ctx, l.app, given, server)
	if err != nil {
		return err
	}
	who, err := whoami(ctx, &httptool.Client{Base: server.URL, Token: token})
	if err != nil {
		return err
	}
	if who.open() {
		return fault.New(fault.InvalidParameter, "authentication is off on %s: no login is needed",
			server.URL).Fix("name the server: --server %s", server.URL)
	}
	in, err := l.keep(ctx, server, token)
	if err != nil {
		return err
	}
	return l.app.Finish(c, clitool.Outcome{Data: loggedIn{server.URL, in, who}, Text: l.text(server, in, who)})
}

// server returns the selected server, if a token may be sent to it: over TLS or to this machine. It
// must be named by --server or ROOKERY_SERVER; the default server of an earlier login is not used.
func (l *login) server(c *cobra.Command) (credential.Server, error) {
	t, err := l.app.Target(c)
	if err != nil {
		return credential.Server{}, err
	}
	if t.Server == "" {
		return credential.Server{}, fault.New(fault.InvalidParameter, "no server is named").
			Fix("rookery login --server https://memory.example.test --token -")
	}
	server, err := credential.ParseServer(t.Server)
	if err == nil && !server.Private() {
		err = fault.New(fault.InvalidParameter, "a token is not sent to %s without TLS: it "+
			"could be intercepted", server.Origin).
			Fix("use https://%s, if the server supports it", strings.TrimPrefix(string(server.Origin), "http://"))
	}
	return server, err
}

// keep stores the token, and makes its server the default one. It returns where the token is: in
// the keyring or, if there is none or --file is set, in the file. If the second step fails, the
// token remains stored; the next login replaces it.
func (l *login) keep(
	ctx context.Context, server credential.Server, token string,
) (credential.Place, error) {
	store, err := connector{l.app}.credentials()
	if err != nil {
		return "", err
	}
	store.NoKeyring = store.NoKeyring || l.file
	in, err := store.Put(ctx, server.Origin, token)
	if err != nil {
		return "", err
	}
	return in, store.SetUsual(ctx, server)
}

// A loggedIn is the JSON answer of login: the URL of the server, where the token is stored, and the
// members of the account. It does not contain the token.
type loggedIn struct {
	Server string           `json:"server"`
	KeptIn credential.Place `json:"kept_in"`
	account
}

// text returns the answer for people: the account with its roles, where the token is stored and how
// long it is valid, and where commands go now. If ROOKERY_TOKEN or ROOKERY_DATA is set, it warns
// that this variable takes precedence over the login; otherwise a person would wonder why nothing
// changed.
func (l *login) text(server credential.Server, in credential.Place, who account) string {
	where := "in the keyring of this machine"
	if in == credential.File {
		where = "in a file that only you can read, credentials.json in ~/.config/rookery"
		if l.app.Env("XDG_CONFIG_HOME") != "" {
			where = "in a file that only you can read, $XDG_CONFIG_HOME/rookery/credentials.json"
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Logged in to %s as %s: %s.\n", server.URL, who.who(), who.role())
	fmt.Fprintf(&b, "The token is stored %s, and %s.\n", where, who.until())
	fmt.Fprintf(&b, "Commands go there from now on; --server, --data or --vault DIR override "+
		"this.\n")
	for _, name := range []string{"ROOKERY_TOKEN", "ROOKERY_DATA"} {
		if l.app.Env(name) != "" {
			fmt.Fprintf(&b, "But %s is set, and overrides the stored login.\n", name)
		}
	}
	return b.String()
}

// A logout is the command that removes stored tokens, and the default server with them. It does not
// call the server: a token that was copied elsewhere remains valid until it expires or is revoked.
type logout struct {
	app *clitool.App
	all bool
}

func (l *logout) command() *cobra.Command {
	c := &cobra.Command{
		Use:   "logout",
		Short: "Remove the stored token for a server",
		Long: "Remove the stored token for a server: the server of --server or ROOKERY_SERVER, " +
			"else the one that\ncommands go to. If commands went there, they go to the local " +
			"data directory again.\n\nThe token itself remains valid until it expires. To " +
			"revoke a lost token, use rookery token revoke.",
		Example: "rookery logout\nrookery logout --server https://memory.example.test\n" +
			"rookery logout --all",
		Args: cobra.NoArgs,
		RunE: l.run,

		ValidArgsFunction: cobra.NoFileCompletions,
	}
	clitool.Uses(c, "server", "json", "bare", "envelope")
	c.Flags().BoolVar(&l.all, "all", false, "remove the stored tokens for all servers")
	return c
}

// run removes the tokens, and prints the servers that had one. It succeeds if there was none, so
// that it can be repeated.
func (l *logout) run(c *cobra.Command, _ []string) error {
	store, err := connector{l.app}.credentials()
	if err != nil {
		return err
	}
	servers, err := l.servers(c, store)
	if err != nil {
		return err
	}
	gone, err := forget(c.Context(), store, servers)
	if err != nil {
		return err
	}
	return l.app.Finish(c, clitool.Outcome{
		Data: map[string]any{"servers": gone}, Text: forgotten(gone),
	})
}

// servers returns the servers whose tokens must be removed: all that have a stored token for --all,
// the one that --server or ROOKERY_SERVER names, or else the default server. It returns NOT_FOUND
// if none of these selects a server. --all and --server together are refused, because the person
// may believe that only one is removed.
func (l *logout) servers(c *cobra.Command, store credential.Store) ([]credential.Origin, error) {
	t, err := l.app.Target(c)
	if err != nil {
		return nil, err
	}
	if l.all {
		if c.Root().PersistentFlags().Changed("server") {
			return nil, fault.New(fault.InvalidParameter, "--all and --server exclude each other").
				Fix("leave one of them out")
		}
		return store.Servers()
	}
	server, ok, err := credential.Server{}, t.Server != "", error(nil)
	if ok {
		server, err = credential.ParseServer(t.Server)
	} else {
		server, ok, err = store.Usual()
	}
	if err == nil && !ok {
		err = fault.New(fault.NotFound, "commands go to no server").
			Fix("name one: rookery logout --server URL").Fix("rookery logout --all")
	}
	return []credential.Origin{server.Origin}, err
}

// forget removes the tokens of these servers, and returns the servers that had one or were the
// default, never nil. It continues after an error, such as a locked keyring, so that one server
// does not keep the tokens of the others; the errors are joined. A server whose token could not be
// removed keeps its place as the default.
func forget(
	ctx context.Context, store credential.Store, servers []credential.Origin,
) ([]credential.Origin, error) {
	gone, failed := []credential.Origin{}, error(nil)
	for _, o := range servers {
		was, err := store.Remove(ctx, o)
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		usual, err := store.ForgetUsual(ctx, o)
		failed = errors.Join(failed, err)
		if was || usual {
			gone = append(gone, o)
		}
	}
	return gone, failed
}

// forgotten returns the text for people: a line for each server, or a line that there was no token.
func forgotten(gone []credential.Origin) string {
	if len(gone) == 0 {
		return "There was no stored token.\n"
	}
	var b strings.Builder
	for _, o := range gone {
		fmt.Fprintf(&b, "Logged out of %s.\n", o)
	}
	return b.String()
}

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
