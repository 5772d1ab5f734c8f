package s3blob

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"rookery/internal/awsclient"
	"rookery/internal/blob"
)

const (
	resends   = 2 // after outcomes that are unknown
	conflicts = 5 // answers 409 after which a request is repeated

	// metadata of an object: the Put that wrote it, and what that replaced.
	putID    = "rookery-put"
	putAfter = "rookery-after"

	// values of putAfter that are not a tag
	afterNothing  = "nothing"  // blob.IfAbsent
	afterAnything = "anything" // blob.Always
)

// ErrUnknown says that nothing is known of the outcome of a conditional Put: a request of it was not answered, and the
// condition does not hold any more.
var ErrUnknown = errors.New("it is not known whether the object was written")

// Put implements blob.Bucket.
func (b *Bucket) Put(ctx context.Context, key string, data []byte, c blob.Cond) (blob.Tag, error) {
	if err := check(ctx, key); err != nil {
		return "", err
	}
	if c == blob.IfTag("") {
		return "", fmt.Errorf("put an object: %w", blob.ErrCondition)
	}
	p := put{key: key, cond: c, id: rand.Text()}
	ctx = b.soon(ctx)
	var out *s3.PutObjectOutput
	doubt, err := repeat(ctx, func() error {
		var err error
		out, err = b.writes.PutObject(ctx, p.input(b.name, data), b.within(len(data)))
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

// repeat calls send, and again while its outcome is unknown or another write is in its way. It reports whether the
// outcome of a call before the last was unknown.
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

// unknownOutcome reports whether a request may have had its effect though it failed: there was no answer, or it was
// an error of S3's own. RequestTimeout is a 400 that says that the request did not come whole, but not why.
func unknownOutcome(err error) bool {
	if awsclient.NoEffect(err) {
		return false // it has been repeated
	}
	status := statusOf(err)
	return status < http.StatusBadRequest || status >= http.StatusInternalServerError ||
		codeOf(err) == "RequestTimeout"
}

// A put is one Put, with all requests that it sends.
type put struct {
	key  string
	cond blob.Cond
	id   string
}

func (p put) input(bucket string, data []byte) *s3.PutObjectInput {
	in := &s3.PutObjectInput{
		Bucket:      &bucket,
		Key:         &p.key,
		Body:        bytes.NewReader(data),
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

// after is the value of putAfter.
func (p put) after() string {
	switch {
	case p.cond.Absent():
		return afterNothing
	case p.cond.Tag() != "":
		return string(p.cond.Tag())
	}
	return afterAnything
}

// refused reports whether an answer says that the condition does not hold. S3 answers If-Match with 404 where there
// is no object.
func (p put) refused(err error) bool {
	return p.cond != blob.Always &&
		(statusOf(err) == http.StatusPreconditionFailed || p.cond.Tag() != "" && missing(err))
}

// settle decides about a Put whose condition does not hold. If it is in doubt about an earlier request of its own, it
// asks which Put wrote the object that is there.
func (b *Bucket) settle(ctx context.Context, p put, doubt bool) (blob.Tag, error) {
	refused := fmt.Errorf("put an object: %w", blob.ErrCondition)
	if !doubt {
		return "", refused
	}
	head, err := b.head(ctx, p.key)
	switch {
	case errors.Is(err, blob.ErrNotExist):
		return "", refused // what had been there, ours or not, was deleted
	case err != nil:
		return "", err
	case head.Metadata[putID] == p.id:
		return blob.Tag(aws.ToString(head.ETag)), nil
	case p.cond != blob.Always && head.Metadata[putAfter] == p.after():
		return "", refused // that Put replaced what ours was to replace
	}
	return "", fmt.Errorf("put an object: %w", ErrUnknown)
}

// contentType is that of a Markdown file for the notes of a vault.
func contentType(key string) string {
	if strings.Contains("/"+key, "/notes/") && strings.HasSuffix(key, ".md") {
		return "text/markdown; charset=utf-8"
	}
	return "application/octet-stream"
}

// Delete implements blob.Bucket. In a bucket with versions the object is kept as an earlier version.
func (b *Bucket) Delete(ctx context.Context, key string) error {
	if err := check(ctx, key); err != nil {
		return err
	}
	ctx = b.soon(ctx)
	in := &s3.DeleteObjectInput{Bucket: &b.name, Key: &key}
	_, err := repeat(ctx, func() error {
		_, err := b.writes.DeleteObject(ctx, in, b.within(0))
		return err
	})
	if err != nil {
		return b.failure(ctx, "delete an object", err)
	}
	return nil
}
