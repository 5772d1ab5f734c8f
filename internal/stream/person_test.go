package stream_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/awsclient"
	"github.com/rookeryhq/rookery/internal/awstest"
	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/s3blob"
)

// TestOneFileAtATime holds that nobody's bytes are lost: somebody puts the file before, between and after each of the
// requests by which it is made, changed and removed, and what they put is there in the end.
func TestOneFileAtATime(t *testing.T) {
	e := awstest.Start(t)
	bucket := e.Bucket(t)
	theirs := s3blob.New(e.AWS(t, nil), bucket, s3blob.Options{})
	for name, c := range map[string]struct {
		before, after string
		requests      int
	}{
		"made":    {"", "new\n", 2},
		"changed": {"old\n", "new\n", 2},
		"removed": {"old\n", "", 3},
	} {
		for at := range c.requests + 2 { // 0: nobody puts anything
			t.Run(fmt.Sprint(name, at), func(t *testing.T) {
				path := fmt.Sprintf("%s%d.md", name, at)
				b := newVaultFixture(t)
				put := func(text string) {
					_, err := theirs.Put(t.Context(), path, []byte(text), blob.Always)
					require.NoError(t, err)
				}
				faults := awstest.NewFaults(awsclient.NewHTTP(nil), func(r awstest.Request) awstest.Fault {
					if r.N == at {
						put("theirs\n")
					}
					return awstest.None
				})
				if c.before != "" {
					b.write(t, path, c.before)
					f := b.followed(t)
					f.Files = theirs
					_, err := f.Sync(t.Context(), 0)
					require.NoError(t, err)
				}
				seq := b.write(t, path, c.after)
				f := b.followed(t)
				f.Files = s3blob.New(e.AWS(t, faults), bucket, s3blob.Options{})
				more, err := f.Sync(t.Context(), seq)
				require.NoError(t, err)
				require.False(t, more)
				want := c.after
				if at > c.requests {
					put("theirs\n")
				}
				if at > 0 {
					want = "theirs\n"
				}
				text, _, err := theirs.Get(t.Context(), path, 0, -1)
				if want == "" {
					require.ErrorIs(t, err, blob.ErrNotExist)
				} else {
					require.NoError(t, err)
				}
				require.Equal(t, want, string(text))
				require.Equal(t, seq, b.control(t).Cursors["checkout"].Seq)
				if at == 0 {
					require.Equal(t, c.requests, faults.Requests())
				}
			})
		}
	}
}
