package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rookeryhq/rookery/internal/clitool"
	"github.com/rookeryhq/rookery/internal/credential"
	"github.com/rookeryhq/rookery/internal/fault"
)

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
