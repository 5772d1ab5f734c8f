package s3blob

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/rookeryhq/rookery/internal/awsclient"
	"github.com/rookeryhq/rookery/internal/blob"
)

// Limits of repeating a request, and the metadata of an object.
const (
	resends   = 2 // after an unknown outcome
	conflicts = 5 // maximum number of 409 responses after which a request is repeated

	// metadata keys of an object: the id of the Put that wrote it, and its condition
	putID    = "rookery-put"
	putAfter = "rookery-after"

	// values of putAfter for conditions without a tag
	afterNothing  = "nothing"  // blob.IfAbsent
	afterAnything = "anything" // blob.Always
)

// ErrUnknown means that the outcome of a conditional Put is unknown: one of its requests got no
// response, and the condition is no longer met.
var ErrUnknown = errors.New("it is not known whether the object was written")

// Put implements blob.Bucket. If S3 refuses the condition without doubt, the error is
// blob.ErrCondition; if an earlier attempt may have been this Put's own success, it is resolved by
// settle. An unconditional Put whose outcome is unknown is repeated, and the last error is returned
// if all attempts fail.
func (b *Bucket) Put(ctx context.Context, key string, data []byte, c blob.Cond) (blob.Tag, error) {
	return b.PutPieces(ctx, key, blob.Pieces{data}, c)
}

// PutPieces implements blob.PiecePutter.
func (b *Bucket) PutPieces(
	ctx context.Context, key string, data blob.Pieces, c blob.Cond,
) (blob.Tag, error) {
	if err := check(ctx, key); err != nil {
		return "", err
	}
	if c == blob.IfTag("") {
		return "", fmt.Errorf("put an object: %w", blob.ErrCondition)
	}
	p := put{key: key, cond: c, id: rand.Text()}
	ctx = b.withSendDeadline(ctx)
	var out *s3.PutObjectOutput
	doubt, err := repeat(ctx, func() error {
		var err error
		out, err = b.writes.PutObject(ctx, p.input(b.name, data), b.withTimeLimit(int(data.Size())))
		return err
	})
	switch {
	case err == nil:
		return blob.Tag(aws.ToString(out.ETag)), nil
	case ctx.Err() == nil && p.refused(err):
		return b.settle(ctx, p, doubt)
	}
	return "", b.failure(ctx, "put an object", err)
}

// repeat calls send until its outcome is known, at most resends more times, and while S3 reports a
// conflicting write, at most conflicts times. doubt reports whether the outcome of an earlier
// attempt was unknown. Between attempts it waits, longer each time; if ctx would end first, it
// returns that error with doubt set.
func repeat(ctx context.Context, send func() error) (doubt bool, err error) {
	for unknown, met := 0, 0; ; {
		err = send()
		switch {
		case err == nil || ctx.Err() != nil:
			return unknown > 0, err
		case statusOf(err) == http.StatusConflict && met < conflicts:
			met++
		case unknownOutcome(err) && unknown < resends:
			unknown++
		default:
			return unknown > 0, err
		}
		if late := awsclient.Wait(ctx, met+unknown); late != nil {
			return true, late
		}
	}
}

// unknownOutcome reports whether a failed request may have had an effect: there was no response, or
// it was a server error. RequestTimeout is a 400 which means that the request did not arrive
// completely.
func unknownOutcome(err error) bool {
	if awsclient.NoEffect(err) {
		return false // the SDK has already repeated it
	}
	status := statusOf(err)
	return status < http.StatusBadRequest || status >= http.StatusInternalServerError ||
		codeOf(err) == "RequestTimeout"
}

// A put is one Put with all its requests. All of them have the same id, which no other Put has.
type put struct {
	key  string
	cond blob.Cond
	id   string
}

// input returns the request.
func (p put) input(bucket string, data blob.Pieces) *s3.PutObjectInput {
	in := &s3.PutObjectInput{
		Bucket:      &bucket,
		Key:         &p.key,
		Body:        data.Reader(),
		ContentType: aws.String(contentType(p.key)),
		Metadata:    map[string]string{putID: p.id, putAfter: p.after()},
	}
	switch {
	case p.cond.Absent():
		in.IfNoneMatch = aws.String("*")
	case p.cond.Tag() != "":
		in.IfMatch = aws.String(string(p.cond.Tag()))
	}
	return in
}

// after returns the value of putAfter: the tag of the object that the Put expects to replace, or
// one of the values for nothing and anything. Two Puts with the same value exclude each other.
func (p put) after() string {
	switch {
	case p.cond.Absent():
		return afterNothing
	case p.cond.Tag() != "":
		return string(p.cond.Tag())
	}
	return afterAnything
}

// refused reports whether a response means that the condition is not met. For If-Match S3 responds
// with 404 if there is no object.
func (p put) refused(err error) bool {
	return p.cond != blob.Always &&
		(statusOf(err) == http.StatusPreconditionFailed || p.cond.Tag() != "" && missing(err))
}

// settle returns the result of a Put whose condition is not met. If doubt is set, it reads which
// Put wrote the current object: this one, which is a success; one with the same condition, which
// replaced what this one was to replace, so this one had no effect; or another, which may have
// replaced this one's object, so the outcome stays unknown (ErrUnknown).
func (b *Bucket) settle(ctx context.Context, p put, doubt bool) (blob.Tag, error) {
	refused := fmt.Errorf("put an object: %w", blob.ErrCondition)
	if !doubt {
		return "", refused
	}
	head, err := b.head(ctx, p.key)
	switch {
	case errors.Is(err, blob.ErrNotExist):
		return "", refused // the object was deleted, ours or another one
	case err != nil:
		return "", err
	case head.Metadata[putID] == p.id:
		return blob.Tag(aws.ToString(head.ETag)), nil
	case p.cond != blob.Always && head.Metadata[putAfter] == p.after():
		return "", refused // that Put replaced the object that this one was to replace
	}
	return "", fmt.Errorf("put an object: %w", ErrUnknown)
}

// contentType returns the type of Markdown for the notes of a vault, and that of binary data for
// all other objects.
func contentType(key string) string {
	if strings.Contains("/"+key, "/notes/") && strings.HasSuffix(key, ".md") {
		return "text/markdown; charset=utf-8"
	}
	return "application/octet-stream"
}

// Delete implements blob.Bucket. In a bucket with versioning the object remains as a noncurrent
// version, below a delete marker, also if there was no object. A Delete whose outcome is unknown is
// repeated, because deleting twice has the same effect, unless another writer creates the object in
// between.
func (b *Bucket) Delete(ctx context.Context, key string) error {
	if err := check(ctx, key); err != nil {
		return err
	}
	ctx = b.withSendDeadline(ctx)
	in := &s3.DeleteObjectInput{Bucket: &b.name, Key: &key}
	_, err := repeat(ctx, func() error {
		_, err := b.writes.DeleteObject(ctx, in, b.withTimeLimit(0))
		return err
	})
	if err != nil {
		return b.failure(ctx, "delete an object", err)
	}
	return nil
}
