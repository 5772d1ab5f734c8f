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
// that it is the one that was read. What is put is durable.
func In(b blob.Bucket) Files { return objects{b} }

type objects struct{ blob.Bucket }

var (
	_ Files       = objects{}
	_ blob.Eraser = objects{}
)

// attempts is how often an object is read that another process writes at the same time.
const attempts = 5

// Append implements Files. What another process has appended of the same lines stays, also if there are more of them:
// all lines follow from the log.
func (o objects) Append(ctx context.Context, key string, n int64, data []byte) error {
	for range attempts {
		err := o.append(ctx, key, n, data)
		if !errors.Is(err, errMeanwhile) {
			return err
		}
	}
	return fmt.Errorf("append to the audit log: %w", errMeanwhile)
}

// errMeanwhile says that an object was another one by the time when it was to be put.
var errMeanwhile = errors.New("it is written by another process")

func (o objects) append(ctx context.Context, key string, n int64, data []byte) error {
	text, tag, err := o.Get(ctx, key, 0, -1)
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

// Sync implements Files.
func (objects) Sync(context.Context, ...string) error { return nil }

// EraseKept implements blob.Eraser: it destroys what the bucket keeps, if it can.
func (o objects) EraseKept(ctx context.Context, prefix string) (blob.Gone, error) {
	return blob.EraseKept(ctx, o.Bucket, prefix)
}
