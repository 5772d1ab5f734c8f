package repotest

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"

	"rookery/internal/blob"
	"rookery/internal/index"
	"rookery/internal/repo"
	"rookery/internal/search"
)

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

// examine holds all processes against what was told: those that run, and new ones with images and
// without.
func (c *chronicle) examine(ctx context.Context) {
	newest, err := c.live.Read(ctx)
	require.NoError(c.t, err)
	c.requireTold("who was told of each commit", newest)
	for i, v := range []*repo.Vault{c.others[0], c.others[1], c.fresh()} {
		x, err := v.Read(ctx)
		require.NoError(c.t, err)
		c.requireTold(fmt.Sprint("process ", i), x)
	}
	if version := newest.Version(); c.asked[version] == "" {
		c.asked[version] = c.answers(ctx, c.live, version)
	}
	c.requireAnswers(ctx, c.fresh(), newest.Version())
	for range 2 {
		c.requirePast(ctx, c.fresh(), c.r.Uint64N(newest.Version()+1))
	}
	c.requireAnswers(ctx, pick(c.r, c.others), c.anyAsked())
	if c.r.IntN(2) == 0 {
		c.rebuild(ctx)
	}
	if c.r.IntN(3) == 0 {
		c.withoutImages(ctx)
	}
}

// rebuild makes the index anew, in a process that runs or in a new one.
func (c *chronicle) rebuild(ctx context.Context) {
	v := c.any()
	x, err := v.Rebuild(ctx, c.r.IntN(2) == 0)
	require.NoError(c.t, err)
	c.requireTold("made anew", x)
	c.requireAnswers(ctx, v, x.Version())
}

// withoutImages loses all images, and begins anew.
func (c *chronicle) withoutImages(ctx context.Context) {
	for _, key := range c.images(ctx) {
		require.NoError(c.t, c.Bucket.Delete(ctx, key))
	}
	v := c.fresh()
	x, err := v.Read(ctx)
	require.NoError(c.t, err)
	c.requireTold("without images", x)
	c.requireAnswers(ctx, v, x.Version())
	c.requirePast(ctx, v, c.r.Uint64N(x.Version()+1))
}

// anyAsked is a version of which answers are known.
func (c *chronicle) anyAsked() uint64 {
	versions := make([]uint64, 0, len(c.asked))
	for v := range c.asked {
		versions = append(versions, v)
	}
	slices.Sort(versions)
	return pick(c.r, versions)
}

// requireTold holds an index against what was told of its version.
func (c *chronicle) requireTold(who string, x *index.Index) {
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.told[x.Version()].image
	require.True(c.t, bytes.Equal(was, x.AppendImage(nil)), "%s: v%d is not what it was\n%s",
		who, x.Version(), difference(was, x))
}

// requirePast holds a past state against what was told of it.
func (c *chronicle) requirePast(ctx context.Context, v *repo.Vault, version uint64) {
	x, err := v.At(ctx, version)
	require.NoError(c.t, err)
	require.Equal(c.t, version, x.Version())
	c.requireTold("as of", x)
}

// requireAnswers asks again of a version what was asked when it was the newest.
func (c *chronicle) requireAnswers(ctx context.Context, v *repo.Vault, version uint64) {
	require.Equal(c.t, c.asked[version], c.answers(ctx, v, version), "as of v%d", version)
}

// queries are searched for.
var queries = []string{"tea", "lantern -oil", `"buy"`, "größe", "mill*", "important", "Ünïcode canal"}

// answers is what a vault answers of a version beside its index: the texts, the history of some files,
// and what is found.
func (c *chronicle) answers(ctx context.Context, v *repo.Vault, version uint64) string {
	s, err := v.SearchableAt(ctx, version)
	require.NoError(c.t, err)
	require.Equal(c.t, version, s.Index.Version())
	c.requireTold("searchable", s.Index)
	var b strings.Builder
	for f := range s.Index.Files() {
		text, err := v.Text(ctx, f.Body)
		require.NoError(c.t, err)
		require.Equal(c.t, f.Digest, index.DigestOf(text), "the text of %s in v%d", f.Path, version)
	}
	for _, q := range queries {
		found, err := s.Search.Search(search.ParseQuery(q), search.Options{
			Text: func(doc string) ([]byte, error) {
				n, _ := s.Index.Note(doc)
				return v.Text(ctx, n.Body)
			},
		})
		require.NoError(c.t, err)
		fmt.Fprintf(&b, "%s: %d %v\n", q, found.Total, found.Partial)
		for _, hit := range found.Items {
			fmt.Fprintf(&b, "\t%+v\n", hit)
		}
	}
	c.traces(ctx, v, s.Index, &b)
	return b.String()
}

// traces writes the history of some paths as of a version.
func (c *chronicle) traces(
	ctx context.Context, v *repo.Vault, x *index.Index, b *strings.Builder,
) {
	r := rand.New(rand.NewPCG(x.Version(), 0)) // the same paths whenever the version is asked of
	for range 4 {
		path := NewAuthor(r).Path()
		was, seq, err := v.Trace(ctx, x.Version(), func(n *repo.Note) bool { return n.Path == path })
		require.NoError(c.t, err)
		fmt.Fprintf(b, "%s was last changed by v%d\n", cmp.Or(was, path), seq)
		for revision, err := range v.Revisions(ctx, path, seq) {
			require.NoError(c.t, err)
			fmt.Fprintf(b, "\tv%d %v %v %s %s %v\n", revision.Seq, revision.Deleted, revision.Traits,
				revision.Commit.Time, index.DigestOf(revision.Text), revision.Prev)
		}
	}
}

// examineAll holds everything that was told against a new process: each version as of which something
// was asked, the commits, the times, the chain and the audit log.
func (c *chronicle) examineAll(ctx context.Context) {
	v := c.fresh()
	for version := range c.asked {
		c.requireAnswers(ctx, v, version)
	}
	seq, audit := uint64(0), []byte{}
	for commit, err := range v.Commits(ctx, 1) {
		require.NoError(c.t, err)
		seq++
		require.Equal(c.t, string(c.told[seq].commit), string(commitJSON(c.t, commit)))
		audit = append(audit, repo.AuditLines(commit)...)
	}
	require.Equal(c.t, c.version(), seq)
	c.requireTimes(ctx, v)
	var log []byte
	for lines, err := range pick(c.r, c.others).AuditLog(ctx) {
		require.NoError(c.t, err)
		log = append(log, lines...)
	}
	require.Equal(c.t, string(audit), string(log))
	done, err := v.Verify(ctx, &repo.AuditFile{Text: log, Cursor: repo.Cursor{Seq: seq}})
	require.NoError(c.t, err)
	require.Equal(c.t, repo.Verification{Version: seq, Lines: bytes.Count(log, []byte("\n"))}, done)
}

// requireTimes asks for the versions that were there at the times of some commits.
func (c *chronicle) requireTimes(ctx context.Context, v *repo.Vault) {
	for range 10 {
		at := c.told[1+c.r.IntN(len(c.told)-1)].time
		want := uint64(0)
		for i, told := range c.told[1:] {
			if !told.time.After(at) {
				want = uint64(i + 1)
			}
		}
		version, err := v.VersionAt(ctx, at)
		require.NoError(c.t, err)
		require.Equal(c.t, want, version, "at %s", at)
	}
}

// difference says in words in what an index is not that of an image.
func difference(image []byte, x *index.Index) string {
	was, err := index.ReadImage(image)
	if err != nil {
		return err.Error()
	}
	before, now := strings.Split(describe(was), "\n"), strings.Split(describe(x), "\n")
	var b strings.Builder
	for i := range max(len(before), len(now)) {
		one, other := "", ""
		if i < len(before) {
			one = before[i]
		}
		if i < len(now) {
			other = now[i]
		}
		if one != other {
			fmt.Fprintf(&b, "- %s\n+ %s\n", one, other)
		}
	}
	return b.String()
}

// describe is what an index says, for people.
func describe(x *index.Index) string {
	var b strings.Builder
	fmt.Fprintln(&b, x.Version(), x.Time(), x.Totals(), x.SchemaErr(), x.ConfigErr())
	for f := range x.Files() {
		fmt.Fprintln(&b, "file", f.Path, f.Version, f.Body, f.Size, f.Digest)
	}
	for n := range x.Notes("") {
		fmt.Fprintln(&b, "note", n.ID, n.DeclaredType, n.Type, n.Title, n.Fields, n.Created, n.Modified)
		for _, s := range n.Sections {
			fmt.Fprintln(&b, "\tsection", s.Slug, s.Type, s.Fields, s.Line, *s.Times)
		}
		for _, t := range n.Annotations {
			fmt.Fprintln(&b, "\ttrait", t.ID, t.Saying.Type, t.Raw, t.Defined, t.Place.Line, t.Times)
		}
		for _, r := range n.Refs {
			fmt.Fprintln(&b, "\tref", r.Target, r.Line, r.Position, x.Resolve(r.Target).ID)
		}
	}
	for t := range x.Duplicates {
		fmt.Fprintln(&b, "duplicate", t.ID)
	}
	return b.String()
}
