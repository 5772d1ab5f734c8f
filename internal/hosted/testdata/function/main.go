// Function composes what a function of a cloud serves, without its stores: tests ask what it links, and how
// large it is.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"

	"rookery/internal/config"
	"rookery/internal/fault"
	"rookery/internal/hosted"
	"rookery/internal/table"
	"rookery/internal/team"
)

func main() {
	c, err := config.Load("", os.Getenv)
	if err == nil {
		err = serve(c)
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func serve(c config.Config) error {
	h, err := hosted.New(hosted.Options{
		Teams: team.NewTeams(team.Options{}), Server: c, Closed: true,
		Tables: func(context.Context, string) (table.Table, error) { return nil, table.ErrNotFound },
	})
	if err != nil {
		return err
	}
	return http.ListenAndServe("127.0.0.1:0", h.Handler(hosted.Serving{
		Server: c, Decoded: true, Peer: func(*http.Request) *fault.Fault { return nil },
	}))
}
