package awsclient_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/aws/smithy-go"
	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/awsclient"
)

// answered is an answer of AWS with this code.
func answered(code string) error { return &smithy.GenericAPIError{Code: code} }

// TestWritesAreRepeatedWithoutEffectOnly holds what the retryers make of each kind of failure.
func TestWritesAreRepeatedWithoutEffectOnly(t *testing.T) {
	for _, c := range []struct {
		err           error
		reads, writes bool
	}{
		{answered("ThrottlingException"), true, true},
		{answered("ProvisionedThroughputExceededException"), true, true},
		{answered("RequestLimitExceeded"), true, true},
		{answered("SlowDown"), true, true},
		{answered("TransactionConflictException"), false, true},
		{answered("AccessDeniedException"), false, false},
		{answered("ConditionalCheckFailedException"), false, false},
		{answered("InternalServerError"), false, false}, // its status makes a read again, see dynamotable
		{&net.OpError{Op: "read", Err: errors.New("connection reset by peer")}, true, false},
		{&smithy.DeserializationError{Err: io.ErrUnexpectedEOF}, true, false},
		{awsclient.ErrLate, false, false},
		{&smithy.CanceledError{Err: context.Canceled}, false, false},
		{errors.New("anything else"), false, false},
	} {
		require.Equal(t, c.reads, awsclient.Reads().IsErrorRetryable(c.err), "a read after %v", c.err)
		require.Equal(t, c.writes, awsclient.Writes().IsErrorRetryable(c.err), "a write after %v", c.err)
	}
	require.Equal(t, 4, awsclient.Reads().MaxAttempts())
	for n := range 40 {
		d, err := awsclient.Writes().RetryDelay(n, nil)
		require.NoError(t, err)
		require.Less(t, d, time.Second+1)
	}
}

// TestARequestThatWasNotSentHadNoEffect distinguishes a connection that was refused from one that broke.
func TestARequestThatWasNotSentHadNoEffect(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() { // takes one connection, reads a byte, and closes it
		c, err := l.Accept()
		if err == nil {
			_, _ = c.Read(make([]byte, 1))
			_ = c.Close()
		}
	}()
	post := func() error {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+l.Addr().String(), nil)
		require.NoError(t, err)
		_, err = awsclient.NewHTTP(nil).Do(r)
		return err
	}
	err = post()
	require.Error(t, err)
	require.False(t, awsclient.NoEffect(err))
	require.NoError(t, l.Close())
	err = post()
	require.Error(t, err)
	require.True(t, awsclient.NoEffect(err))
}

func TestWait(t *testing.T) {
	require.NoError(t, awsclient.Wait(t.Context(), 0))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, awsclient.Wait(ctx, 60), context.Canceled)
}
