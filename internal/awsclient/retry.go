package awsclient

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/smithy-go"
)

const (
	readAttempts  = 4
	writeAttempts = 30 // these take about 20 s, which is nearly the time of a call
	firstPause    = 25 * time.Millisecond
	longestPause  = time.Second
)

// throttles are the codes of answers after which the store certainly did nothing: there were too
// many requests to it, or to the item.
var throttles = map[string]bool{
	"ProvisionedThroughputExceededException": true,
	"RequestLimitExceeded":                   true,
	"SlowDown":                               true,
	"ThrottlingException":                    true,
	"Throttling":                             true,
	"TransactionConflictException":           true,
	"TransactionInProgressException":         true,
}

// Reads returns a retryer for requests that change nothing. It makes up to four attempts, after any
// temporary failure. It has no shared budget of retries, because one tenant's busy item would use
// up the budget of all.
func Reads() aws.Retryer {
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts = readAttempts
		o.Backoff = retry.BackoffDelayerFunc(pause)
		o.RateLimiter = ratelimit.None
		o.Retryables = append(o.Retryables, retry.IsErrorRetryableFunc(cut))
	})
}

// Writes returns a retryer for requests that change something. It repeats only requests that
// certainly had no effect. The adapter must decide about the others: it can recognize its own write
// by the content.
func Writes() aws.Retryer {
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts = writeAttempts
		o.Backoff = retry.BackoffDelayerFunc(pause)
		o.RateLimiter = ratelimit.None
		o.Retryables = []retry.IsErrorRetryable{
			retry.NoRetryCanceledError{},
			retry.IsErrorRetryableFunc(func(err error) aws.Ternary {
				return aws.BoolTernary(NoEffect(err) && !errors.Is(err, ErrLate))
			}),
		}
	})
}

// NoEffect reports whether a failed request certainly had no effect, so that it may be repeated.
func NoEffect(err error) bool {
	if errors.Is(err, ErrLate) {
		return true
	}
	var notSent unsent
	if errors.As(err, &notSent) {
		return true
	}
	var answer smithy.APIError
	if !errors.As(err, &answer) {
		return false
	}
	return throttles[answer.ErrorCode()] || skewed(err)
}

// skewed reports whether an answer rejects the signature because of its time. The SDK then corrects
// the time of the next attempt.
func skewed(err error) bool {
	var silent errSilent
	return !errors.As(err, &silent) && retry.RetryableError{}.IsErrorRetryable(err) == aws.TrueTernary
}

// cut makes the retryer repeat requests whose answer was incomplete.
func cut(err error) aws.Ternary {
	var unread *smithy.DeserializationError
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &unread) {
		return aws.TrueTernary
	}
	return aws.UnknownTernary
}

// pause returns a random time to wait before attempt n+1. Its limit grows with n up to
// longestPause, so that requests which collided do not collide again.
func pause(n int, _ error) (time.Duration, error) {
	return rand.N(min(longestPause, firstPause<<min(n, 10))), nil
}

// Wait waits before attempt n+1 as the retryers do. If the context ends first, it returns its
// error.
func Wait(ctx context.Context, n int) error {
	d, _ := pause(n, nil)
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
