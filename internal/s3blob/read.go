package s3blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/rookeryhq/rookery/internal/awsclient"
	"github.com/rookeryhq/rookery/internal/blob"
)

// Limits of a Get. chunkSize times streams bounds the memory and the connections that one Get uses
// in addition to its result.
const (
	chunkSize = 32 << 20 // bytes of an object that one request reads
	streams   = 4        // ranges that one Get reads concurrently
	attempts  = 4        // maximum attempts of a read request
	restarts  = 8        // maximum attempts of a Get whose object is replaced while it is read
)

// errReplaced means that the object has another tag than at the beginning of the Get.
var errReplaced = errors.New("the object was replaced while it was read")

// A span is a part of an object: n bytes from offset off, up to the end if n < 0. If tag is not
// empty, the object must have it.
type span struct {
	key    string
	off, n int64
	tag    string
}

// Get implements blob.Bucket. More than 32 MiB are read in ranges of that size, four at a time. All
// ranges are of one state of the object: each expects the tag of the first. If the object is
// replaced meanwhile, the Get begins again, up to eight times, and then returns an error. With n =
// 0 it costs one HEAD request.
func (b *Bucket) Get(ctx context.Context, key string, off, n int64) ([]byte, blob.Tag, error) {
	if err := check(ctx, key); err != nil {
		return nil, "", err
	}
	if n == 0 {
		head, err := b.head(ctx, key)
		if err != nil {
			return nil, "", err
		}
		return []byte{}, blob.Tag(aws.ToString(head.ETag)), nil
	}
	s := span{key: key, off: max(off, 0), n: n}
	for range restarts {
		data, tag, err := b.readAll(ctx, s)
		if !errors.Is(err, errReplaced) {
			return data, blob.Tag(tag), err
		}
	}
	return nil, "", fmt.Errorf("get an object: %w", errReplaced)
}

// readAll reads a span: its first chunk, then the other chunks of the same object. S3 refuses a range
// that begins at or after the end of an object; then the result is empty.
func (b *Bucket) readAll(ctx context.Context, s span) ([]byte, string, error) {
	data, tag, err := b.chunkOf(ctx, s, nil)
	if statusOf(err) == http.StatusRequestedRangeNotSatisfiable {
		return b.readPastEnd(ctx, s)
	}
	if err == nil {
		err = b.fill(ctx, span{key: s.key, off: s.off, tag: tag}, data)
	}
	if err != nil {
		return nil, "", b.getError(ctx, err)
	}
	return data, tag, nil
}

// readPastEnd returns the result of a span that begins at or after the end of the object: no bytes, and
// the tag. If the object has become longer since, the error is errReplaced.
func (b *Bucket) readPastEnd(ctx context.Context, s span) ([]byte, string, error) {
	head, err := b.head(ctx, s.key)
	if err != nil {
		return nil, "", err
	}
	if s.off < aws.ToInt64(head.ContentLength) {
		return nil, "", errReplaced
	}
	return []byte{}, aws.ToString(head.ETag), nil
}

// getError returns the error of a failed Get.
func (b *Bucket) getError(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, errReplaced):
		return err
	case missing(err):
		return fmt.Errorf("get an object: %w", blob.ErrNotExist)
	}
	return b.failure(ctx, "get an object", err)
}

// fill reads the remaining chunks of data concurrently. The first chunk is already read. data has
// the length of the whole span; each goroutine writes to its own part of it. The first error
// cancels the others.
func (b *Bucket) fill(ctx context.Context, s span, data []byte) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	slots := make(chan struct{}, streams)
	var all sync.WaitGroup
	for at := b.chunk; at < int64(len(data)); at += b.chunk {
		part := data[at:min(at+b.chunk, int64(len(data)))]
		from := span{s.key, s.off + at, int64(len(part)), s.tag}
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			if err := b.readInto(ctx, from, part); err != nil {
				cancel(err)
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}

// readInto reads a span into data, which has its length. If the object no longer has the tag, the
// error is errReplaced.
func (b *Bucket) readInto(ctx context.Context, s span, data []byte) error {
	_, _, err := b.chunkOf(ctx, s, data)
	switch statusOf(err) {
	case http.StatusPreconditionFailed, http.StatusNotFound, http.StatusRequestedRangeNotSatisfiable:
		return errReplaced
	}
	return err
}

// chunkOf reads the first chunk of a span and returns the object's tag. It reads into data or, if
// data is nil, into a new buffer for the whole span, of which only the first chunk is filled.
// Temporary failures are retried, with a growing pause.
func (b *Bucket) chunkOf(ctx context.Context, s span, data []byte) ([]byte, string, error) {
	for n := 1; ; n++ {
		got, tag, err := b.attemptOf(ctx, s, data)
		if err == nil || n == attempts || ctx.Err() != nil || !b.isTemporary(err) {
			return got, tag, err
		}
		if err := awsclient.Wait(ctx, n); err != nil {
			return nil, "", err
		}
	}
}

// errIncomplete means that a response was missing, incomplete, or too slow.
var errIncomplete = errors.New("the answer was cut off")

// isTemporary reports whether a failed request may succeed later.
func (b *Bucket) isTemporary(err error) bool {
	return errors.Is(err, errIncomplete) || b.retryer.IsErrorRetryable(err)
}

// attemptOf sends one request for a span and reads up to a chunk of the response. Its time limit is
// in two parts: b.attempt until the response begins, and then timeFor the bytes of the chunk. A
// response that does not have the expected length, ends early or is too slow is errIncomplete.
func (b *Bucket) attemptOf(parent context.Context, s span, data []byte) ([]byte, string, error) {
	ctx, cancel := context.WithCancel(parent)
	defer cancel()
	timer := time.AfterFunc(b.attempt, cancel)
	defer timer.Stop()
	out, err := b.reads.GetObject(ctx, s.input(b.name), once)
	if err != nil {
		if ctx.Err() != nil && parent.Err() == nil {
			err = errIncomplete
		}
		return nil, "", err
	}
	defer out.Body.Close()
	size := aws.ToInt64(out.ContentLength)
	if data == nil {
		data = make([]byte, size)
	}
	if size != int64(len(data)) {
		return nil, "", errIncomplete
	}
	part := data[:min(size, b.chunk)]
	timer.Reset(b.timeFor(int64(len(part))))
	if _, err := io.ReadFull(out.Body, part); err != nil {
		return nil, "", errIncomplete
	}
	// Reading to the end of the body verifies the checksum and frees the connection.
	if len(part) == len(data) {
		if _, err := io.Copy(io.Discard, out.Body); err != nil {
			return nil, "", errIncomplete
		}
	}
	return data, aws.ToString(out.ETag), nil
}

// once disables retries in the SDK; the caller repeats the request.
func once(o *s3.Options) { o.Retryer = aws.NopRetryer{} }

// input returns the request for the span.
func (s span) input(bucket string) *s3.GetObjectInput {
	in := &s3.GetObjectInput{Bucket: &bucket, Key: &s.key}
	switch {
	case s.n > 0 && s.off <= math.MaxInt64-s.n:
		in.Range = aws.String(fmt.Sprintf("bytes=%d-%d", s.off, s.off+s.n-1))
	case s.off > 0:
		in.Range = aws.String(fmt.Sprintf("bytes=%d-", s.off))
	}
	if s.tag != "" {
		in.IfMatch = &s.tag
	}
	return in
}

// head returns the metadata of an object.
func (b *Bucket) head(ctx context.Context, key string) (*s3.HeadObjectOutput, error) {
	head, err := b.reads.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &b.name, Key: &key}, b.withTimeLimit(0))
	if err != nil {
		return nil, b.getError(ctx, err)
	}
	return head, nil
}

// List implements blob.Bucket. Each page of 1,000 objects is one request, made when the loop gets
// there; objects that are written or deleted during the loop may or may not be yielded. Objects
// whose names are not keys are skipped. The objects have tags, but no marks.
func (b *Bucket) List(ctx context.Context, prefix string) iter.Seq2[blob.Object, error] {
	return func(yield func(blob.Object, error) bool) {
		pages := s3.NewListObjectsV2Paginator(b.reads, &s3.ListObjectsV2Input{
			Bucket: &b.name, Prefix: &prefix, EncodingType: types.EncodingTypeUrl,
		})
		for more := true; more; more = pages.HasMorePages() {
			if err := ctx.Err(); err != nil {
				yield(blob.Object{}, err)
				return
			}
			page, err := pages.NextPage(ctx, b.withTimeLimit(0))
			if err != nil {
				yield(blob.Object{}, b.failure(ctx, "list objects", err))
				return
			}
			if !yieldPage(page.Contents, yield) {
				return
			}
		}
	}
}

// yieldPage yields the objects of a page, and reports whether the loop continues.
func yieldPage(page []types.Object, yield func(blob.Object, error) bool) bool {
	for _, o := range page {
		key, err := url.QueryUnescape(aws.ToString(o.Key))
		if err != nil || blob.CheckKey(key) != nil {
			continue
		}
		more := yield(blob.Object{
			Key:      key,
			Tag:      blob.Tag(aws.ToString(o.ETag)),
			Size:     aws.ToInt64(o.Size),
			Modified: aws.ToTime(o.LastModified),
		}, nil)
		if !more {
			return false
		}
	}
	return true
}
