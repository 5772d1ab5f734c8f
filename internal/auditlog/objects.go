package auditlog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/rookeryhq/rookery/internal/blob"
)

// InBucket returns Files in a bucket that cannot append to objects. To append it puts the object again,
// with the condition that it has not changed since it was read. A put is durable. If the bucket is
// a blob.Extender, objects of at least 32 MiB are extended without reading or sending their
// contents.
func InBucket(b blob.Bucket) Files { return objects{b, largeObject} }

// largeObject is the minimum size in bytes of an object that is extended.
const largeObject = 32 << 20

// objects implements Files, copier and blob.Eraser for a bucket.
type objects struct {
	blob.Bucket
	large int64 // minimum size in bytes of an object that is extended
}

var (
	_ Files       = objects{}
	_ copier      = objects{}
	_ blob.Eraser = objects{}
)

// attempts is the number of times that an append is tried while another process writes the object.
const attempts = 5

// Append implements Files. If another process has already appended the same lines, or more, they
// are kept, because all lines follow from the log.
func (o objects) Append(ctx context.Context, key string, n int64, data []byte) error {
	for range attempts {
		err := o.appendTo(ctx, key, n, data)
		if !errors.Is(err, errMeanwhile) {
			return err
		}
	}
	return fmt.Errorf("append to the audit log: %w", errMeanwhile)
}

// errMeanwhile means that the object changed between the read and the put.
var errMeanwhile = errors.New("it is written by another process")

// appendTo makes one attempt of Append.
func (o objects) appendTo(ctx context.Context, key string, n int64, data []byte) error {
	if n >= o.large {
		err := o.extend(ctx, key, n, data)
		if !errors.Is(err, errors.ErrUnsupported) {
			return err
		}
	}
	// The read is limited, because the file of an earlier month may be large.
	text, tag, err := o.Get(ctx, key, 0, n+int64(len(data)))
	cond := blob.IfTag(tag)
	if errors.Is(err, blob.ErrNotExist) {
		cond, err = blob.IfAbsent, nil
	}
	switch {
	case err != nil:
		return fmt.Errorf("read the audit log: %w", err)
	case int64(len(text)) < n:
		return blob.ErrCondition
	case bytes.HasPrefix(text[n:], data):
		return nil
	}
	_, err = o.Put(ctx, key, slices.Concat(text[:n], data), cond)
	if errors.Is(err, blob.ErrCondition) {
		return errMeanwhile
	}
	return err
}

// extend appends to a large object. It reads only the last byte to keep, and what may already be
// there of data.
func (o objects) extend(ctx context.Context, key string, n int64, data []byte) error {
	tail, tag, err := o.Get(ctx, key, n-1, int64(len(data))+1)
	if err := readAll(len(tail), 1, err); err != nil {
		return err
	}
	if bytes.Equal(tail[1:], data) {
		return nil
	}
	_, err = blob.Extend(ctx, o.Bucket, key, blob.Extension{From: key, Tag: tag, Size: n, Data: data}, blob.IfTag(tag))
	if errors.Is(err, blob.ErrCondition) {
		return errMeanwhile
	}
	return err
}

// copyTo implements copier.
func (o objects) copyTo(ctx context.Context, to, from string, n int64) (bool, error) {
	if n < o.large {
		return false, nil
	}
	last, tag, err := o.Get(ctx, from, n-1, 1)
	if err := readAll(len(last), 1, err); err != nil {
		return false, err
	}
	_, err = blob.Extend(ctx, o.Bucket, to, blob.Extension{From: from, Tag: tag, Size: n}, blob.Always)
	if errors.Is(err, errors.ErrUnsupported) {
		return false, nil
	}
	return err == nil, err
}

// Sync implements Files. It does nothing, because a put is durable.
func (objects) Sync(context.Context, ...string) error { return nil }

// EraseKept implements blob.Eraser. It destroys what the bucket keeps, if the bucket supports that.
func (o objects) EraseKept(ctx context.Context, prefix string) (blob.EraseCount, error) {
	return blob.EraseKept(ctx, o.Bucket, prefix)
}
