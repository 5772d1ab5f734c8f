package auditlog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"rookery/internal/blob"
)

// In returns the files of a bucket that cannot append to objects: to append is to put the object again, on the condition
// that it is the one that was read. What is put is durable. Where the bucket is a blob.Extender, what an object of more
// than 32 MiB has is neither read nor sent.
func In(b blob.Bucket) Files { return objects{b, largeObject} }

// largeObject is from how many bytes on an object is extended.
const largeObject = 32 << 20

type objects struct {
	blob.Bucket
	large int64 // bytes, see In
}

var (
	_ Files       = objects{}
	_ copier      = objects{}
	_ blob.Eraser = objects{}
)

// attempts is how often an object is read that another process writes at the same time.
const attempts = 5

// Append implements Files. What another process has appended of the same lines stays, also if there are more of them:
// all lines follow from the log.
func (o objects) Append(ctx context.Context, key string, n int64, data []byte) error {
	for range attempts {
		err := o.appendTo(ctx, key, n, data)
		if !errors.Is(err, errMeanwhile) {
			return err
		}
	}
	return fmt.Errorf("append to the audit log: %w", errMeanwhile)
}

// errMeanwhile says that an object was another one by the time when it was to be put.
var errMeanwhile = errors.New("it is written by another process")

func (o objects) appendTo(ctx context.Context, key string, n int64, data []byte) error {
	if n >= o.large {
		err := o.extend(ctx, key, n, data)
		if !errors.Is(err, errors.ErrUnsupported) {
			return err
		}
	}
	text, tag, err := o.Get(ctx, key, 0, n+int64(len(data))) // the file of an earlier month may be large
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

// extend appends to a large object, of which it reads the last byte that counts and what may be there of the data.
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

// Sync implements Files.
func (objects) Sync(context.Context, ...string) error { return nil }

// EraseKept implements blob.Eraser: it destroys what the bucket keeps, if it can.
func (o objects) EraseKept(ctx context.Context, prefix string) (blob.Gone, error) {
	return blob.EraseKept(ctx, o.Bucket, prefix)
}
