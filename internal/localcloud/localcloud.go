// Package localcloud serves the functions of AWS Lambda on this machine, over emulators of DynamoDB and S3: the real
// programs, as processes behind a gateway that behaves as an HTTP API does. It is for trying them out, and for tests
// of other programs against them; no function links it.
package localcloud

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// Options say what is served, and where.
type Options struct {
	Deployment
	Listen string // HOST:PORT of the gateway, on loopback
}

const (
	tenant = "local-cloud" // the tenant of the first token

	// grace is how long calls may go on after the end was asked for.
	grace = 2 * time.Second
)

// Run serves until the context ends, and then ends all processes. When calls can be made it writes two lines to out,
// as variables of a shell: ROOKERY_SERVER and ROOKERY_TOKEN, the token of an administrator.
func Run(ctx context.Context, o Options, out io.Writer) error {
	if err := MakeStores(ctx, o.Deployment); err != nil {
		return err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.Listen)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	base := "http://" + l.Addr().String()
	functions, err := Start(ctx, o.Deployment, base)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	defer functions.Close()
	server := &http.Server{Handler: functions, ReadHeaderTimeout: 10 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	token, err := functions.Token(ctx, tenant)
	if err == nil {
		_, err = fmt.Fprintf(out, "ROOKERY_SERVER=%s\nROOKERY_TOKEN=%s\n", base, token)
	}
	if err == nil {
		select {
		case <-ctx.Done():
		case err = <-served:
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if server.Shutdown(last) != nil {
		_ = server.Close() // what did not end in time is cut off
	}
	return err
}
