package s3blob

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/rookeryhq/rookery/internal/blob"
)

var _ blob.Taker = (*Bucket)(nil)

// newest is the maximum number of versions and markers that are read to find the newest version of
// a key.
const newest = 10

// Take implements blob.Taker. It deletes the object and then reads the version below the delete
// marker. A version with another tag is put back, unless there is a newer object, and the error is
// blob.ErrCondition. So the object is missing for a moment in that case. Take requires a bucket
// with versioning, and the permissions s3:ListBucketVersions and s3:GetObjectVersion; without
// versioning the condition is not checked.
func (b *Bucket) Take(ctx context.Context, key string, t blob.Tag) error {
	if err := b.Delete(ctx, key); err != nil {
		return err
	}
	id, tag, err := b.displaced(ctx, key)
	if err != nil || id == "" || tag == t {
		return err
	}
	data, err := b.version(ctx, key, id)
	if err != nil {
		return err
	}
	if _, err := b.Put(ctx, key, data, blob.IfAbsent); err != nil && !errors.Is(err, blob.ErrCondition) {
		return err
	}
	return fmt.Errorf("take an object: %w", blob.ErrCondition)
}

// displaced returns the id and the tag of the newest version of a key, not counting delete markers,
// or "" if there is none. It reads one short page: many deletions of one key could hide an older
// version.
func (b *Bucket) displaced(ctx context.Context, key string) (id string, t blob.Tag, err error) {
	out, err := b.reads.ListObjectVersions(ctx, &s3.ListObjectVersionsInput{
		Bucket: &b.name, Prefix: &key, MaxKeys: aws.Int32(newest),
	}, b.withTimeLimit(0))
	if err != nil {
		return "", "", b.failure(ctx, "list versions", err)
	}
	for _, v := range out.Versions { // sorted by key, then newest first; key itself precedes longer keys
		if aws.ToString(v.Key) == key {
			return aws.ToString(v.VersionId), blob.Tag(aws.ToString(v.ETag)), nil
		}
	}
	return "", "", nil
}

// version reads a version of an object into memory, whole. It is used for small objects only, those
// that Take replaces.
func (b *Bucket) version(ctx context.Context, key, id string) ([]byte, error) {
	out, err := b.reads.GetObject(ctx, &s3.GetObjectInput{Bucket: &b.name, Key: &key, VersionId: &id})
	if err != nil {
		return nil, b.failure(ctx, "read a version", err)
	}
	data, err := io.ReadAll(out.Body)
	if err := errors.Join(err, out.Body.Close()); err != nil {
		return nil, b.failure(ctx, "read a version", err)
	}
	return data, nil
}
