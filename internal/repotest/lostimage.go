package repotest

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/table"
)

// A stored image is an object, or an item that has a part of an image.
type storedImage struct {
	key  string
	item bool
}

// images are all that there are.
func (e Engine) images(ctx context.Context, t *testing.T) (all []storedImage) {
	t.Helper()
	for o, err := range e.Bucket.List(ctx, "image/") {
		require.NoError(t, err)
		all = append(all, storedImage{o.Key, false})
	}
	for it, err := range e.Table.Query(ctx, Part, "image/", "image/~") {
		require.NoError(t, err)
		all = append(all, storedImage{it.Sort, true})
	}
	return all
}

// dropImages deletes images.
func (e Engine) dropImages(ctx context.Context, t *testing.T, images []storedImage) {
	t.Helper()
	for _, i := range images {
		if i.item {
			require.NoError(t, e.Table.Commit(ctx, table.Remove(table.Key{Part: Part, Sort: i.key})))
		} else {
			require.NoError(t, e.Bucket.Delete(ctx, i.key))
		}
	}
}

// changeImage changes the bytes of an image.
func (e Engine) changeImage(ctx context.Context, t *testing.T, i storedImage, change func([]byte) []byte) {
	t.Helper()
	if !i.item {
		data, _, err := e.Bucket.Get(ctx, i.key, 0, -1)
		require.NoError(t, err)
		_, err = e.Bucket.Put(ctx, i.key, change(bytes.Clone(data)), blob.Always)
		require.NoError(t, err)
		return
	}
	it, err := e.Table.Get(ctx, table.Key{Part: Part, Sort: i.key})
	require.NoError(t, err)
	it.Data = change(bytes.Clone(it.Data))
	require.NoError(t, e.Table.Commit(ctx, table.Set(it)))
}

// of reports whether the image has a key, or is a part of one that has it.
func (i storedImage) of(key string) bool { return i.key == key || strings.HasPrefix(i.key, key+"/") }

// loseImages deletes all images, or one of them.
func (c *chronicle) loseImages(ctx context.Context) {
	images := c.images(ctx, c.t)
	if len(images) > 0 && c.r.IntN(2) == 0 {
		images = []storedImage{pick(c.r, images)}
	}
	c.dropImages(ctx, c.t, images)
}

// damageImage changes one byte of an image, or cuts it off.
func (c *chronicle) damageImage(ctx context.Context) {
	images := c.images(ctx, c.t)
	if len(images) == 0 {
		return
	}
	c.changeImage(ctx, c.t, pick(c.r, images), func(data []byte) []byte {
		at := c.r.IntN(len(data))
		if c.r.IntN(2) == 0 {
			at = c.r.IntN(min(len(data), 500)) // in its head
		}
		if c.r.IntN(4) == 0 {
			return data[:at]
		}
		data[at] ^= byte(1 + c.r.IntN(255))
		return data
	})
}
