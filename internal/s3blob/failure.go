package s3blob

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"rookery/internal/awsclient"
)

// logEvery is how often an error about the deployment is logged.
const logEvery = time.Minute

// deployment says what is wrong with the deployment where S3 answers with one of these codes. An answer to HEAD has
// no body; its code is the text of its status.
var deployment = map[string]string{
	"AccessDenied":          "the role may not do this (403: is s3:ListBucket allowed? Without it a missing object is 403)",
	"Forbidden":             "the role may not do this (403: is s3:ListBucket allowed? Without it a missing object is 403)",
	"ExpiredToken":          "the credentials have expired",
	"InvalidAccessKeyId":    "the credentials are not known",
	"NoSuchBucket":          "the bucket is not there",
	"PermanentRedirect":     "the bucket is in another region",
	"SignatureDoesNotMatch": "the credentials are not valid",
}

// A storeError says what went wrong in words of its own: an answer of AWS, and an error of the network, may quote
// keys.
type storeError struct {
	what string
	err  error
}

// Error implements error.
func (e *storeError) Error() string { return e.what }

// Unwrap returns what the SDK returned, whose text is not for logs.
func (e *storeError) Unwrap() error { return e.err }

// failure is the error of a call that did not succeed, with a verb and its object. It logs what is wrong with the
// deployment.
func (b *Bucket) failure(ctx context.Context, doing string, err error) error {
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %w", doing, ctx.Err())
	case errors.Is(err, awsclient.ErrLate):
		return fmt.Errorf("%s: %w", doing, awsclient.ErrLate)
	}
	return fmt.Errorf("%s: %w", doing, &storeError{b.explain(ctx, err), err})
}

// explain says what is wrong.
func (b *Bucket) explain(ctx context.Context, err error) string {
	code := codeOf(err)
	if code == "" {
		return "no answer from S3"
	}
	what, ok := deployment[code]
	if !ok {
		return "S3 answers " + code
	}
	if b.mayLog() {
		b.log.ErrorContext(ctx, "the deployment is not complete: "+what, "code", code)
	}
	return what
}

// mayLog reports whether a minute has passed since it last did.
func (b *Bucket) mayLog() bool {
	now, last := b.now().UnixNano(), b.logged.Load()
	return (last == 0 || now-last >= int64(logEvery)) && b.logged.CompareAndSwap(last, now)
}

// codeOf is the code of S3's answer; empty if there was none.
func codeOf(err error) string {
	var answer smithy.APIError
	if errors.As(err, &answer) {
		return answer.ErrorCode()
	}
	return http.StatusText(statusOf(err))
}

// statusOf is the status of S3's answer; 0 if there was none.
func statusOf(err error) int {
	var answer *smithyhttp.ResponseError
	if errors.As(err, &answer) {
		return answer.HTTPStatusCode()
	}
	return 0
}

// missing reports whether an answer says that there is no such object.
func missing(err error) bool {
	return statusOf(err) == http.StatusNotFound && codeOf(err) != "NoSuchBucket"
}
