package repotest

import (
	"bytes"
	"context"

	"github.com/stretchr/testify/require"

	"rookery/internal/blob"
)

// images are the keys of the images that there are.
func (c *chronicle) images(ctx context.Context) []string {
	var keys []string
	for o, err := range c.Bucket.List(ctx, "image/") {
		require.NoError(c.t, err)
		keys = append(keys, o.Key)
	}
	return keys
}

// loseImages deletes all images, or one of them.
func (c *chronicle) loseImages(ctx context.Context) {
	keys := c.images(ctx)
	if len(keys) > 0 && c.r.IntN(2) == 0 {
		keys = []string{pick(c.r, keys)}
	}
	for _, key := range keys {
		require.NoError(c.t, c.Bucket.Delete(ctx, key))
	}
}

// damageImage changes one byte of an image, or cuts it off.
func (c *chronicle) damageImage(ctx context.Context) {
	keys := c.images(ctx)
	if len(keys) == 0 {
		return
	}
	key := pick(c.r, keys)
	data, _, err := c.Bucket.Get(ctx, key, 0, -1)
	require.NoError(c.t, err)
	at := c.r.IntN(len(data))
	if c.r.IntN(2) == 0 {
		at = c.r.IntN(min(len(data), 500)) // in its head
	}
	if data = bytes.Clone(data); c.r.IntN(4) == 0 {
		data = data[:at]
	} else {
		data[at] ^= byte(1 + c.r.IntN(255))
	}
	_, err = c.Bucket.Put(ctx, key, data, blob.Always)
	require.NoError(c.t, err)
}
