// Package s3blob is the blob port on one bucket of S3.
//
// A tag is the ETag of the object. The bucket should keep versions: a Put or Delete then destroys nothing, and
// Erasing destroys what was kept.
//
// # Unknown outcomes
//
// A request that changes something is repeated by the SDK only if it certainly had no effect. After any other
// failure a Put or Delete sends it up to two more times. When the condition of a Put does not hold then, the reason
// may be its own earlier request. So each Put writes an id, and the condition that it had, as metadata of the object,
// and reads them back in this case only: the object is its own, or replaced what the Put was to replace, or else the
// outcome stays unknown (docs/design/0035).
package s3blob

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/logging"

	"rookery/internal/awsclient"
	"rookery/internal/blob"
	"rookery/internal/table"
)

const (
	attemptTime = 10 * time.Second
	mebibyte    = 1 << 20

	// sendWithin is how long after the begin of a call its request may still be signed. S3 honours a
	// signature for fifteen minutes.
	sendWithin = 5 * time.Minute
)

// Options are what a Bucket may be given. The zero value works.
type Options struct {
	// Now is the time by which a request is too late to be sent, best that of an awsclient.Clock. Nil is
	// time.Now.
	Now func() time.Time

	// Log gets an error about the deployment, such as a bucket that is not there, once a minute. Nil is
	// slog.Default.
	Log *slog.Logger

	// Attempt is how long an attempt may take; 0 is 10 s. Each MiB that is sent or read adds a second.
	Attempt time.Duration
}

// A Bucket is a bucket of S3. It is safe for concurrent use. It destroys no version of an object.
type Bucket struct {
	name          string
	reads, writes *s3.Client
	retryer       aws.Retryer // of reads
	attempt       time.Duration
	chunk         int64 // bytes of a range, see Get
	now           func() time.Time
	failures      awsclient.Failures
}

var _ blob.Bucket = (*Bucket)(nil)

// New returns the bucket of this name, which has to be there, in the account and region of a configuration. Where
// that has an endpoint, S3 is addressed by path, and checksums are sent only where S3 requires them.
func New(cfg aws.Config, name string, o Options) *Bucket {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
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
			s.Logger = logging.Nop{} // what the SDK logs names keys
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

// within bounds each attempt of an operation that sends or reads n bytes and does not stream its answer.
func (b *Bucket) within(n int) func(*s3.Options) {
	return func(o *s3.Options) {
		o.APIOptions = append(o.APIOptions, awsclient.Within(b.timeFor(int64(n))))
	}
}

// timeFor is how long an attempt may take that moves n bytes.
func (b *Bucket) timeFor(n int64) time.Duration {
	return b.attempt + time.Duration(n)*time.Second/mebibyte
}

// soon is a context in which nothing is signed later than five minutes from now.
func (b *Bucket) soon(ctx context.Context) context.Context {
	return table.SendBefore(ctx, b.now().Add(sendWithin))
}

// check returns the error of a context that is done, or of a key that is none.
func check(ctx context.Context, key string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return blob.CheckKey(key)
}
