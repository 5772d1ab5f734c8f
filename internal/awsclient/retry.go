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
	writeAttempts = 30 // they last about 20 s, which is nearly as long as a call
	firstPause    = 25 * time.Millisecond
	longestPause  = time.Second
)

// throttles are the codes of answers that say that the store did nothing: too much is asked of it, or of the item.
var throttles = map[string]bool{
	"ProvisionedThroughputExceededException": true,
	"RequestLimitExceeded":                   true,
	"SlowDown":                               true,
	"ThrottlingException":                    true,
	"Throttling":                             true,
	"TransactionConflictException":           true,
	"TransactionInProgressException":         true,
}

// Reads returns a retryer for requests that change nothing: up to four attempts after any failure that may pass. It
// has no budget that calls share: one tenant's busy item would use up that of all.
func Reads() aws.Retryer {
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts = readAttempts
		o.Backoff = retry.BackoffDelayerFunc(pause)
		o.RateLimiter = ratelimit.None
		o.Retryables = append(o.Retryables, retry.IsErrorRetryableFunc(cut))
	})
}

// Writes returns a retryer for requests that change something: it only repeats what certainly had no effect. What
// becomes of the others is for the adapter to decide, who can tell its own write by its content.
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

// NoEffect reports whether the store certainly did nothing because of a failed request that may be repeated.
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

// skewed reports whether an answer refuses the signature because of its time, which the SDK then corrects.
func skewed(err error) bool {
	var silent errSilent
	return !errors.As(err, &silent) && retry.RetryableError{}.IsErrorRetryable(err) == aws.TrueTernary
}

// cut makes answers whose body broke off retryable.
func cut(err error) aws.Ternary {
	var unread *smithy.DeserializationError
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &unread) {
		return aws.TrueTernary
	}
	return aws.UnknownTernary
}

// pause returns a random time to wait before attempt n+1, longer the larger n is: those who met do not meet again.
func pause(n int, _ error) (time.Duration, error) {
	return rand.N(min(longestPause, firstPause<<min(n, 10))), nil
}

// Wait waits as the retryers do before attempt n+1, or until the context ends, whose error it returns.
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
