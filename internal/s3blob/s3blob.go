// Package s3blob implements blob.Bucket with one S3 bucket.
//
// A tag is the ETag of the object. The bucket should have versioning enabled: a Put or Delete then
// destroys no data, and Erasing destroys old versions.
//
// # Unknown outcomes
//
// The SDK repeats a change only if it certainly had no effect. After any other failure a Put or
// Delete sends it up to two more times. If the condition of a Put is then not met, its own earlier
// request may be the reason. Therefore each Put writes an id and its condition as metadata of the
// object, and reads them back only in this case. If the object has the Put's id, the Put succeeded.
// If it was written by another Put with the same condition, the Put was refused. Otherwise the
// outcome stays unknown (docs/design/0035).
//
// # Time
//
// A change is signed within five minutes after its call began, and S3 accepts a signature for
// fifteen minutes. So no request of a call can have an effect later than that, which an erasure
// relies on when it waits before its second sweep. The clock that decides this should be one that
// is corrected by the responses of AWS.
//
// # Files
//
// read.go has the reads, write.go Put, Delete and the rules for repeating them, extend.go the
// multipart upload that appends to a large object, take.go the conditional delete, and erase.go
// the destruction of versions.
package s3blob

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/logging"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/rookeryhq/rookery/internal/awsclient"
	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/table"
)

// Time limits of requests.
const (
	attemptTime = 10 * time.Second
	mebibyte    = 1 << 20

	// sendWithin is the time after the beginning of a call within which its requests must be
	// signed. S3 accepts a signature for fifteen minutes.
	sendWithin = 5 * time.Minute
)

// Options configure a Bucket. The zero value works.
type Options struct {
	// Now is the clock by which requests are too late to be sent, preferably that of an
	// awsclient.Clock. Nil is time.Now.
	Now func() time.Time

	// Log receives errors of the deployment, such as a missing bucket, at most once a minute. Nil
	// is slog.Default.
	Log *slog.Logger

	// Attempt is the time limit of an attempt; 0 is 10 s. Each MiB that is sent or read adds a
	// second.
	Attempt time.Duration
}

// A Bucket is an S3 bucket. It is safe for concurrent use. It never destroys a version of an
// object; see NewEraser. It has two clients, because reads may be repeated whatever happened, and
// writes only if they had no effect.
type Bucket struct {
	name          string
	reads, writes *s3.Client
	retryer       aws.Retryer // decides which reads are repeated
	attempt       time.Duration
	chunk         int64 // bytes of a range; see Get
	now           func() time.Time
	failures      awsclient.Failures
}

var _ blob.Bucket = (*Bucket)(nil)

// New returns a Bucket for the S3 bucket with this name in the account and region of cfg. The
// bucket must exist; New does not check that. If cfg has an endpoint, the bucket is addressed by
// path, and checksums are used only where S3 requires them.
func New(cfg aws.Config, name string, o Options) *Bucket {
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Log = cmp.Or(o.Log, slog.Default())
	b := &Bucket{
		name: name, attempt: cmp.Or(o.Attempt, attemptTime), chunk: chunkSize, now: o.Now,
		failures: awsclient.Failures{
			Service: "S3", Deployment: deployment, Code: codeOf, Now: o.Now, Log: o.Log,
		},
	}
	client := func(r aws.Retryer) *s3.Client {
		return s3.NewFromConfig(cfg, func(s *s3.Options) {
			s.Retryer = r
			s.APIOptions = append(s.APIOptions, awsclient.NeverLate(b.now))
			s.Logger = logging.Nop{} // the SDK's log messages contain keys
			s.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenSupported
			s.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenSupported
			if s.BaseEndpoint != nil {
				s.UsePathStyle = true
				s.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
				s.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
			}
		})
	}
	b.retryer = awsclient.Reads()
	b.reads, b.writes = client(b.retryer), client(awsclient.Writes())
	return b
}

// withTimeLimit returns an option that limits each attempt of an operation that sends or reads n bytes and
// does not stream its response.
func (b *Bucket) withTimeLimit(n int) func(*s3.Options) {
	return func(o *s3.Options) {
		o.APIOptions = append(o.APIOptions, awsclient.Within(b.timeFor(int64(n))))
	}
}

// timeFor returns the time limit of an attempt that transfers n bytes.
func (b *Bucket) timeFor(n int64) time.Duration {
	return b.attempt + time.Duration(n)*time.Second/mebibyte
}

// withSendDeadline returns a context in which no request is signed later than sendWithin from now. It must be
// called once for each change, before its first request.
func (b *Bucket) withSendDeadline(ctx context.Context) context.Context {
	return table.SendBefore(ctx, b.now().Add(sendWithin))
}

// check returns the context's error if it is done, or an error if the key is invalid.
func check(ctx context.Context, key string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return blob.CheckKey(key)
}

// notAllowed is the problem of a request that the role does not permit.
const notAllowed = "the role may not do this (403: is s3:ListBucket allowed? Without it a missing object is 403)"

// deployment maps error codes of S3 to problems of the deployment. A response to HEAD has no
// body; its code is the text of its status.
var deployment = map[string]string{
	"AccessDenied":          notAllowed,
	"Forbidden":             notAllowed,
	"ExpiredToken":          "the credentials have expired",
	"InvalidAccessKeyId":    "the credentials are not known",
	"NoSuchBucket":          "the bucket is not there",
	"PermanentRedirect":     "the bucket is in another region",
	"SignatureDoesNotMatch": "the credentials are not valid",
}

// failure returns the error of a failed call. doing is the verb and the object of the call. Errors
// of the deployment, those in the table above, are also logged, because no caller can correct them;
// see awsclient.Failures.
func (b *Bucket) failure(ctx context.Context, doing string, err error) error {
	return b.failures.Of(ctx, doing, err)
}

// codeOf returns the error code of S3's response, or "" if there was no response.
func codeOf(err error) string {
	if code := awsclient.CodeOf(err); code != "" {
		return code
	}
	return http.StatusText(statusOf(err))
}

// statusOf returns the HTTP status of S3's response, or 0 if there was no response.
func statusOf(err error) int {
	if answer, ok := errors.AsType[*smithyhttp.ResponseError](err); ok {
		return answer.HTTPStatusCode()
	}
	return 0
}

// missing reports whether a response means that the object does not exist.
func missing(err error) bool {
	return statusOf(err) == http.StatusNotFound && codeOf(err) != "NoSuchBucket"
}
