// Function composes what a function of a cloud serves, without its stores: tests ask what it links, and how
// large it is, and the bench how long it takes to begin. It writes its address when it can be called.
package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"

	"github.com/rookeryhq/rookery/internal/config"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/hosted"
	"github.com/rookeryhq/rookery/internal/table"
	"github.com/rookeryhq/rookery/internal/tenant"
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
		Teams: tenant.NewRegistry(tenant.Options{}), Server: c, Closed: true,
		Tables: func(context.Context, string) (table.Table, error) { return nil, table.ErrNotFound },
	})
	if err != nil {
		return err
	}
	handler := h.Handler(hosted.Serving{
		Server: c, Decoded: true, Peer: func(*http.Request) *fault.Fault { return nil },
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	return http.Serve(l, handler)
}
