// Package localcloud serves the functions of AWS Lambda on this machine, over emulators of DynamoDB
// and S3: the real programs, as processes behind a gateway that behaves as an HTTP API does. It is
// for trying the functions, and for testing other programs against them. No function links it.
package localcloud

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"time"
)

// Options are the options of Run.
type Options struct {
	Deployment
	Listen string // HOST:PORT of the gateway, on loopback
	Issuer string // HOST:PORT of an issuer whose tokens are accepted; empty: none
}

const (
	tenant = "local-cloud" // the tenant of the first token

	// grace is how long calls may continue after the context has ended.
	grace = 2 * time.Second
)

// Run serves until the context ends, and then ends all processes. When it is ready, it writes shell
// variables to out: ROOKERY_SERVER, ROOKERY_TOKEN, the token of an administrator, and
// ROOKERY_ISSUER, the URL of the issuer, if there is one.
func Run(ctx context.Context, o Options, out io.Writer) error {
	if err := MakeStores(ctx, o.Deployment); err != nil {
		return err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.Listen)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	base := "http://" + l.Addr().String()
	issued, end, err := o.issue(ctx, base)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	defer end()
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
		_, err = fmt.Fprintf(out, "ROOKERY_SERVER=%s\nROOKERY_TOKEN=%s\n%s", base, token, issued)
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
		_ = server.Close() // cut off the remaining calls
	}
	return err
}

// issue starts the issuer, if there is one, and returns the line of output with its URL. end stops
// it.
func (o *Options) issue(ctx context.Context, audience string) (line string, end func(), err error) {
	if o.Issuer == "" {
		return "", func() {}, nil
	}
	i, err := NewIssuer(ctx, o.Issuer, audience)
	if err != nil {
		return "", nil, err
	}
	accepted, err := i.environment(tenant)
	if err != nil {
		i.Close()
		return "", nil, err
	}
	o.Env = append(slices.Clone(o.Env), accepted)
	return "ROOKERY_ISSUER=" + i.URL + "\n", i.Close, nil
}
