package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

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
