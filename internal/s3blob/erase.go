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

	"github.com/rookeryhq/rookery/internal/awsclient"
	"github.com/rookeryhq/rookery/internal/blob"
)

// An Eraser is a Bucket that can destroy versions. It needs the permissions s3:ListBucketVersions
// and s3:DeleteObjectVersion, which the role that serves requests must not have: without them, a
// compromised server can hide data by deleting it, but not destroy it.
type Eraser struct{ *Bucket }

var _ blob.Wiper = Eraser{}

// NewEraser returns an Eraser for a bucket.
func NewEraser(b *Bucket) Eraser { return Eraser{b} }

// EraseKept implements blob.Eraser. It destroys all noncurrent versions, and the delete markers of
// deleted objects. Current objects stay. It lists all versions below the prefix twice.
func (e Eraser) EraseKept(ctx context.Context, prefix string) (blob.EraseCount, error) {
	// As long as there is a delete marker, no earlier version becomes current again. Therefore
	// markers are removed last.
	gone, err := e.destroy(ctx, prefix, func(v version) bool { return !v.latest })
	if err != nil {
		return gone, err
	}
	more, err := e.destroy(ctx, prefix, func(v version) bool { return v.marker })
	gone.Add(more)
	return gone, err
}

// Wipe implements blob.Wiper. It destroys all versions, the current ones last, up to 1,000 with
// each request.
func (e Eraser) Wipe(ctx context.Context, prefix string) (blob.EraseCount, error) {
	gone, err := e.destroy(ctx, prefix, func(v version) bool { return !v.latest })
	if err != nil {
		return gone, err
	}
	more, err := e.destroy(ctx, prefix, func(version) bool { return true })
	gone.Add(more)
	return gone, err
}

// A version is a version of an object, or a delete marker.
type version struct {
	id     types.ObjectIdentifier
	size   int64
	latest bool
	marker bool
}

// destroy destroys the versions below a prefix for which chosen returns true, page by page, and
// counts them. It can be repeated after an error: a version that is gone is not listed any more.
// The count is then that of the repetition.
func (e Eraser) destroy(ctx context.Context, prefix string, chosen func(version) bool) (blob.EraseCount, error) {
	var gone blob.EraseCount
	pages := s3.NewListObjectVersionsPaginator(e.reads, &s3.ListObjectVersionsInput{
		Bucket: &e.name, Prefix: &prefix, EncodingType: types.EncodingTypeUrl,
	})
	for pages.HasMorePages() {
		if err := ctx.Err(); err != nil {
			return gone, err
		}
		page, err := pages.NextPage(ctx, e.withTimeLimit(0))
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

// versionsOf returns the versions and delete markers of a page.
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

// identifier returns the identifier of a version. key is URL-encoded.
func identifier(key, id *string) (types.ObjectIdentifier, error) {
	plain, err := url.QueryUnescape(aws.ToString(key))
	if err != nil {
		return types.ObjectIdentifier{},
			fmt.Errorf("list versions: %w", &awsclient.StoreError{What: "a key is malformed", Cause: err})
	}
	return types.ObjectIdentifier{Key: &plain, VersionId: id}, nil
}

// remove destroys the chosen versions, at most 1,000, with one request. A key with control
// characters cannot be written in XML; it gets a request of its own. Markers are not counted. If
// the request for several versions fails, the count is zero, because S3 may have destroyed some of
// them.
func (e Eraser) remove(ctx context.Context, all []version, chosen func(version) bool) (blob.EraseCount, error) {
	var gone blob.EraseCount
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
			gone.Add(blob.EraseCount{Objects: 1, Bytes: v.size})
		}
	}
	if err := e.removeAll(ctx, ids); err != nil {
		return blob.EraseCount{}, err
	}
	return gone, nil
}

// removeOne destroys one version.
func (e Eraser) removeOne(ctx context.Context, id types.ObjectIdentifier) error {
	ctx = e.withSendDeadline(ctx)
	in := &s3.DeleteObjectInput{Bucket: &e.name, Key: id.Key, VersionId: id.VersionId}
	_, err := repeat(ctx, func() error {
		_, err := e.writes.DeleteObject(ctx, in, e.withTimeLimit(0))
		return err
	})
	if err != nil {
		return e.failure(ctx, "destroy a version", err)
	}
	return nil
}

// removeAll destroys several versions with one request. It returns an error if S3 did not destroy
// all of them.
func (e Eraser) removeAll(ctx context.Context, ids []types.ObjectIdentifier) error {
	if len(ids) == 0 {
		return nil
	}
	ctx = e.withSendDeadline(ctx)
	in := &s3.DeleteObjectsInput{
		Bucket: &e.name, Delete: &types.Delete{Objects: ids, Quiet: aws.Bool(true)},
	}
	var out *s3.DeleteObjectsOutput
	_, err := repeat(ctx, func() error {
		var err error
		out, err = e.writes.DeleteObjects(ctx, in, e.withTimeLimit(0))
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
