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

	"github.com/rookeryhq/rookery/internal/blob"
)

// Limits of an upload.
const (
	maxPart = 1 << 30 // bytes copied by one request; S3 allows 5 GiB

	// abortTime is the time limit for aborting a failed upload. If that fails, the bucket's
	// lifecycle rule aborts it later.
	abortTime = 5 * time.Second
)

var _ blob.Extender = (*Bucket)(nil)

// Extend implements blob.Extender with a multipart upload, in which S3 copies the bytes of the
// other object. The condition applies to the request that completes the upload. The other object
// must be at least blob.MinExtended bytes long and still have the tag of e; otherwise nothing is
// written.
//
// Each part that is copied expects the tag, so all parts are of one state of the object. Parts of
// an upload that is neither completed nor aborted cost storage until the lifecycle rule of the
// bucket removes them.
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
	ctx = b.withSendDeadline(ctx)
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

// An upload is a multipart upload. It is used by one goroutine. It has the id and the condition of
// a put, so that an unknown outcome is resolved as for a Put.
type upload struct {
	put
	bucket *Bucket
	name   *string // upload id
	sent   []types.CompletedPart
}

// begin starts the upload. If a response is lost, the repetition begins a second upload, and the
// first one is left to the lifecycle rule.
func (u *upload) begin(ctx context.Context) error {
	in := &s3.CreateMultipartUploadInput{
		Bucket: &u.bucket.name, Key: &u.key, ContentType: aws.String(contentType(u.key)),
		Metadata: map[string]string{putID: u.id, putAfter: u.after()},
	}
	_, err := repeat(ctx, func() error {
		out, err := u.bucket.writes.CreateMultipartUpload(ctx, in, u.bucket.withTimeLimit(0))
		if err == nil {
			u.name = out.UploadId
		}
		return err
	})
	return err
}

// parts uploads all parts: those copied from the other object, then the new data. S3 demands that
// all parts but the last have at least blob.MinExtended bytes.
func (u *upload) parts(ctx context.Context, e blob.Extension) error {
	for at := int64(0); at < e.Size; {
		n := min(e.Size-at, maxPart)
		if rest := e.Size - at - n; rest > 0 && rest < blob.MinExtended {
			n -= blob.MinExtended // the last copied part must not be smaller than the minimum
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

// copy copies n bytes of the other object, from offset at, as one part. If that object is missing
// or has another tag, the error is blob.ErrCondition.
func (u *upload) copy(ctx context.Context, e blob.Extension, at, n int64) error {
	b := u.bucket
	in := &s3.UploadPartCopyInput{
		Bucket: &b.name, Key: &u.key, UploadId: u.name, PartNumber: u.next(),
		CopySource: aws.String(source(b.name, e.From)), CopySourceIfMatch: aws.String(string(e.Tag)),
		CopySourceRange: aws.String(fmt.Sprintf("bytes=%d-%d", at, at+n-1)),
	}
	_, err := repeat(ctx, func() error {
		out, err := b.writes.UploadPartCopy(ctx, in, b.withTimeLimit(int(n)))
		if err == nil && out.CopyPartResult == nil {
			err = errIncomplete
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

// send uploads data as one part.
func (u *upload) send(ctx context.Context, data []byte) error {
	b, n := u.bucket, u.next()
	_, err := repeat(ctx, func() error {
		out, err := b.writes.UploadPart(ctx, &s3.UploadPartInput{
			Bucket: &b.name, Key: &u.key, UploadId: u.name, PartNumber: n, Body: bytes.NewReader(data),
		}, b.withTimeLimit(len(data)))
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

// next returns the number of the next part, from 1.
func (u *upload) next() *int32 { return aws.Int32(int32(len(u.sent) + 1)) }

// complete creates the object from the parts if the condition is met, and returns its tag. A
// response that the upload does not exist, after an attempt whose outcome is unknown, may mean that
// this attempt completed it; then the object itself is examined, as after a condition that is not
// met.
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
		out, err = b.writes.CompleteMultipartUpload(ctx, in, b.withTimeLimit(0))
		return err
	})
	gone := codeOf(err) == "NoSuchUpload" // also if the upload is already complete
	switch {
	case err == nil:
		return blob.Tag(aws.ToString(out.ETag)), nil
	case ctx.Err() == nil && (gone && doubt || !gone && u.refused(err)):
		return b.settle(ctx, u.put, doubt)
	}
	return "", b.failure(ctx, "complete an upload", err)
}

// abort aborts the upload, so that S3 deletes its parts. Errors are ignored.
func (u *upload) abort(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortTime)
	defer cancel()
	_, _ = u.bucket.writes.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{
		Bucket: &u.bucket.name, Key: &u.key, UploadId: u.name,
	}, u.bucket.withTimeLimit(0)) // on failure the lifecycle rule of the bucket aborts it
}

// source returns the escaped name of an object to copy from. S3 decodes a plus sign as a space, so
// it is escaped too.
func source(bucket, key string) string {
	segments := strings.Split(bucket+"/"+key, "/")
	for i, s := range segments {
		segments[i] = strings.ReplaceAll(url.PathEscape(s), "+", "%2B")
	}
	return strings.Join(segments, "/")
}
