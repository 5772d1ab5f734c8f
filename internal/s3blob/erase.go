package s3blob

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"unicode"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"rookery/internal/awsclient"
	"rookery/internal/blob"
)

// An Eraser is a Bucket that can destroy versions. Its role must have s3:ListBucketVersions and
// s3:DeleteObjectVersion, which that of a request must not have.
type Eraser struct{ *Bucket }

var _ blob.Wiper = Eraser{}

// Erasing returns a bucket that can destroy versions too.
func Erasing(b *Bucket) Eraser { return Eraser{b} }

// EraseKept implements blob.Eraser: it destroys all versions that are not current, and the markers of objects that
// were deleted.
func (e Eraser) EraseKept(ctx context.Context, prefix string) (blob.Gone, error) {
	// While a marker is there, no earlier version becomes current again. So the markers go last.
	gone, err := e.destroy(ctx, prefix, func(v version) bool { return !v.latest })
	if err != nil {
		return gone, err
	}
	more, err := e.destroy(ctx, prefix, func(v version) bool { return v.marker })
	gone.Add(more)
	return gone, err
}

// Wipe implements blob.Wiper: it destroys all versions, the current ones last. A request destroys 1,000 of them.
func (e Eraser) Wipe(ctx context.Context, prefix string) (blob.Gone, error) {
	gone, err := e.destroy(ctx, prefix, func(v version) bool { return !v.latest })
	if err != nil {
		return gone, err
	}
	more, err := e.destroy(ctx, prefix, func(version) bool { return true })
	gone.Add(more)
	return gone, err
}

// A version is a version of an object, or a marker that it was deleted.
type version struct {
	id     types.ObjectIdentifier
	size   int64
	latest bool
	marker bool
}

// destroy destroys the versions below a prefix that are chosen.
func (e Eraser) destroy(ctx context.Context, prefix string, chosen func(version) bool) (blob.Gone, error) {
	var gone blob.Gone
	pages := s3.NewListObjectVersionsPaginator(e.reads, &s3.ListObjectVersionsInput{
		Bucket: &e.name, Prefix: &prefix, EncodingType: types.EncodingTypeUrl,
	})
	for pages.HasMorePages() {
		if err := ctx.Err(); err != nil {
			return gone, err
		}
		page, err := pages.NextPage(ctx, e.within(0))
		if err != nil {
			return gone, e.failure(ctx, "list versions", err)
		}
		all, err := versionsOf(page)
		if err != nil {
			return gone, err
		}
		destroyed, err := e.remove(ctx, all, chosen)
		gone.Add(destroyed)
		if err != nil {
			return gone, err
		}
	}
	return gone, nil
}

// versionsOf are the versions and markers of a page.
func versionsOf(page *s3.ListObjectVersionsOutput) ([]version, error) {
	var all []version
	for _, v := range page.Versions {
		id, err := identifier(v.Key, v.VersionId)
		if err != nil {
			return nil, err
		}
		all = append(all, version{id: id, size: aws.ToInt64(v.Size), latest: aws.ToBool(v.IsLatest)})
	}
	for _, m := range page.DeleteMarkers {
		id, err := identifier(m.Key, m.VersionId)
		if err != nil {
			return nil, err
		}
		all = append(all, version{id: id, latest: aws.ToBool(m.IsLatest), marker: true})
	}
	return all, nil
}

// identifier names a version; key is escaped as in a URL.
func identifier(key, id *string) (types.ObjectIdentifier, error) {
	plain, err := url.QueryUnescape(aws.ToString(key))
	if err != nil {
		return types.ObjectIdentifier{}, fmt.Errorf("list versions: %w", &awsclient.StoreError{What: "a key is malformed", Cause: err})
	}
	return types.ObjectIdentifier{Key: &plain, VersionId: id}, nil
}

// remove destroys those of the versions that are chosen, at most 1,000, with one request. It sends another one for
// each key that XML has no characters for.
func (e Eraser) remove(ctx context.Context, all []version, chosen func(version) bool) (blob.Gone, error) {
	var gone blob.Gone
	var ids []types.ObjectIdentifier
	for _, v := range all {
		if !chosen(v) {
			continue
		}
		if strings.ContainsFunc(*v.id.Key, unicode.IsControl) {
			if err := e.removeOne(ctx, v.id); err != nil {
				return gone, err
			}
		} else {
			ids = append(ids, v.id)
		}
		if !v.marker {
			gone.Add(blob.Gone{Objects: 1, Bytes: v.size})
		}
	}
	if err := e.removeAll(ctx, ids); err != nil {
		return blob.Gone{}, err
	}
	return gone, nil
}

func (e Eraser) removeOne(ctx context.Context, id types.ObjectIdentifier) error {
	ctx = e.soon(ctx)
	in := &s3.DeleteObjectInput{Bucket: &e.name, Key: id.Key, VersionId: id.VersionId}
	_, err := repeat(ctx, func() error {
		_, err := e.writes.DeleteObject(ctx, in, e.within(0))
		return err
	})
	if err != nil {
		return e.failure(ctx, "destroy a version", err)
	}
	return nil
}

func (e Eraser) removeAll(ctx context.Context, ids []types.ObjectIdentifier) error {
	if len(ids) == 0 {
		return nil
	}
	ctx = e.soon(ctx)
	in := &s3.DeleteObjectsInput{
		Bucket: &e.name, Delete: &types.Delete{Objects: ids, Quiet: aws.Bool(true)},
	}
	var out *s3.DeleteObjectsOutput
	_, err := repeat(ctx, func() error {
		var err error
		out, err = e.writes.DeleteObjects(ctx, in, e.within(0))
		return err
	})
	if err != nil {
		return e.failure(ctx, "destroy versions", err)
	}
	if len(out.Errors) > 0 {
		return fmt.Errorf("destroy versions: S3 left %d of %d, the first because of %s",
			len(out.Errors), len(ids), aws.ToString(out.Errors[0].Code))
	}
	return nil
}
