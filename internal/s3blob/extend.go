package s3blob

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"rookery/internal/blob"
)

const (
	maxPart = 1 << 30 // bytes that one request copies; S3 allows 5 GiB

	// abortTime is how long an upload that failed is tried to be given up. The lifecycle of the bucket ends those
	// that stay.
	abortTime = 5 * time.Second
)

var _ blob.Extender = (*Bucket)(nil)

// Extend implements blob.Extender, by an upload in parts: S3 copies what the other object has. The condition is that of
// the request which completes the upload.
func (b *Bucket) Extend(ctx context.Context, key string, e blob.Extension, c blob.Cond) (blob.Tag, error) {
	for _, k := range []string{key, e.From} {
		if err := check(ctx, k); err != nil {
			return "", err
		}
	}
	switch {
	case c == blob.IfTag("") || e.Tag == "":
		return "", fmt.Errorf("extend an object: %w", blob.ErrCondition)
	case e.Size < blob.MinExtended:
		return "", fmt.Errorf("extend an object: %d bytes are too few to be copied", e.Size)
	}
	u := upload{put: put{key: key, cond: c, id: rand.Text()}, bucket: b}
	ctx = b.soon(ctx)
	if err := u.begin(ctx); err != nil {
		return "", b.failure(ctx, "begin an upload", err)
	}
	err := u.parts(ctx, e)
	if err != nil {
		u.abort(ctx)
		return "", err
	}
	tag, err := u.complete(ctx)
	if err != nil {
		u.abort(ctx)
	}
	return tag, err
}

// An upload is a Put in parts.
type upload struct {
	put
	bucket *Bucket
	name   *string // by which S3 knows it
	sent   []types.CompletedPart
}

func (u *upload) begin(ctx context.Context) error {
	in := &s3.CreateMultipartUploadInput{
		Bucket: &u.bucket.name, Key: &u.key, ContentType: aws.String(contentType(u.key)),
		Metadata: map[string]string{putID: u.id, putAfter: u.after()},
	}
	_, err := repeat(ctx, func() error {
		out, err := u.bucket.writes.CreateMultipartUpload(ctx, in, u.bucket.within(0))
		if err == nil {
			u.name = out.UploadId
		}
		return err
	})
	return err
}

// parts sends all parts: those that are copied, and what comes behind them.
func (u *upload) parts(ctx context.Context, e blob.Extension) error {
	for at := int64(0); at < e.Size; {
		n := min(e.Size-at, maxPart)
		if rest := e.Size - at - n; rest > 0 && rest < blob.MinExtended {
			n -= blob.MinExtended // the last one that is copied must not be smaller
		}
		if err := u.copy(ctx, e, at, n); err != nil {
			return err
		}
		at += n
	}
	if len(e.Data) == 0 {
		return nil
	}
	return u.send(ctx, e.Data)
}

// copy copies n bytes of the other object, from an offset on.
func (u *upload) copy(ctx context.Context, e blob.Extension, at, n int64) error {
	b := u.bucket
	in := &s3.UploadPartCopyInput{
		Bucket: &b.name, Key: &u.key, UploadId: u.name, PartNumber: u.next(),
		CopySource: aws.String(source(b.name, e.From)), CopySourceIfMatch: aws.String(string(e.Tag)),
		CopySourceRange: aws.String(fmt.Sprintf("bytes=%d-%d", at, at+n-1)),
	}
	_, err := repeat(ctx, func() error {
		out, err := b.writes.UploadPartCopy(ctx, in, b.within(int(n)))
		if err == nil && out.CopyPartResult == nil {
			err = errCut
		}
		if err == nil {
			u.sent = append(u.sent, types.CompletedPart{ETag: out.CopyPartResult.ETag, PartNumber: in.PartNumber})
		}
		return err
	})
	switch {
	case err == nil:
		return nil
	case ctx.Err() == nil && (statusOf(err) == http.StatusPreconditionFailed || missing(err)):
		return fmt.Errorf("copy a part of an object: %w", blob.ErrCondition)
	}
	return b.failure(ctx, "copy a part of an object", err)
}

// send sends a part.
func (u *upload) send(ctx context.Context, data []byte) error {
	b, n := u.bucket, u.next()
	_, err := repeat(ctx, func() error {
		out, err := b.writes.UploadPart(ctx, &s3.UploadPartInput{
			Bucket: &b.name, Key: &u.key, UploadId: u.name, PartNumber: n, Body: bytes.NewReader(data),
		}, b.within(len(data)))
		if err == nil {
			u.sent = append(u.sent, types.CompletedPart{ETag: out.ETag, PartNumber: n})
		}
		return err
	})
	if err != nil {
		return b.failure(ctx, "send a part of an object", err)
	}
	return nil
}

// next is the number of the next part.
func (u *upload) next() *int32 { return aws.Int32(int32(len(u.sent) + 1)) }

// complete makes the object of the parts, if the condition holds.
func (u *upload) complete(ctx context.Context) (blob.Tag, error) {
	b := u.bucket
	in := &s3.CompleteMultipartUploadInput{
		Bucket: &b.name, Key: &u.key, UploadId: u.name,
		MultipartUpload: &types.CompletedMultipartUpload{Parts: u.sent},
	}
	switch {
	case u.cond.Absent():
		in.IfNoneMatch = aws.String("*")
	case u.cond.Tag() != "":
		in.IfMatch = aws.String(string(u.cond.Tag()))
	}
	var out *s3.CompleteMultipartUploadOutput
	doubt, err := repeat(ctx, func() error {
		var err error
		out, err = b.writes.CompleteMultipartUpload(ctx, in, b.within(0))
		return err
	})
	gone := codeOf(err) == "NoSuchUpload" // which an upload is when it is complete
	switch {
	case err == nil:
		return blob.Tag(aws.ToString(out.ETag)), nil
	case ctx.Err() == nil && (gone && doubt || !gone && u.refused(err)):
		return b.settle(ctx, u.put, doubt)
	}
	return "", b.failure(ctx, "complete an upload", err)
}

// abort gives the upload up, so that S3 does not keep its parts.
func (u *upload) abort(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortTime)
	defer cancel()
	_, _ = u.bucket.writes.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{
		Bucket: &u.bucket.name, Key: &u.key, UploadId: u.name,
	}, u.bucket.within(0)) // what stays, the lifecycle of the bucket ends
}

// source names an object to be copied. S3 reads a plus as a blank.
func source(bucket, key string) string {
	segments := strings.Split(bucket+"/"+key, "/")
	for i, s := range segments {
		segments[i] = strings.ReplaceAll(url.PathEscape(s), "+", "%2B")
	}
	return strings.Join(segments, "/")
}
