package clitool_test

import (
	"archive/zip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/clitool"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
)

// A cabinet stores files by vault. Its tools import and export them.
type cabinet struct {
	vaults map[string]map[string]string
	parts  []entry // if not empty, the answer of an export
}

type entry struct {
	Path string `json:"path"`
	Text string `json:"text"`
	Part int    `json:"part,omitempty"`
}

type bringIn struct {
	Vault string `json:"vault"`
	tool.Mutation
	Notes []struct {
		Path string `json:"path"`
		Text string `json:"text"`
	} `json:"notes"`
}

type bringOut struct {
	tool.Aside `json:"-"`
	DryRun     bool     `json:"dry_run,omitempty"`
	Created    []string `json:"created"`
	Skipped    int      `json:"skipped"`
	Version    string   `json:"version"`
}

func (c *cabinet) bring(_ context.Context, _ auth.Caller, in bringIn) (bringOut, error) {
	out := bringOut{DryRun: in.DryRun, Created: []string{}}
	v, ok := c.vaults[in.Vault]
	if !ok {
		return out, fault.New(fault.NotFound, "there is no vault %q", in.Vault)
	}
	for _, n := range in.Notes {
		if _, there := v[n.Path]; there {
			out.Skipped++
			continue
		}
		out.Created = append(out.Created, n.Path)
		if !in.DryRun {
			v[n.Path] = n.Text
		}
	}
	out.Version = fmt.Sprintf("v%d", len(v))
	return out, nil
}

type makeIn struct {
	tool.Mutation
	Name string `json:"name"`
}

func (c *cabinet) make(_ context.Context, _ auth.Caller, in makeIn) (struct{}, error) {
	if _, ok := c.vaults[in.Name]; ok {
		return struct{}{}, fault.New(fault.DuplicateID, "there is a vault %q", in.Name)
	}
	if !in.DryRun {
		c.vaults[in.Name] = map[string]string{}
	}
	return struct{}{}, nil
}

type takeIn struct {
	Vault     string `json:"vault"`
	PageToken string `json:"page_token,omitempty" means:"token"`
}

type takeOut struct {
	tool.Aside `json:"-"`
	Notes      []entry `json:"notes"`
}

// take returns two entries per page.
func (c *cabinet) take(_ context.Context, _ auth.Caller, in takeIn) (out takeOut, err error) {
	all := c.parts
	if all == nil {
		for path, text := range c.vaults[in.Vault] {
			all = append(all, entry{Path: path, Text: text})
		}
		slices.SortFunc(all, func(a, b entry) int { return strings.Compare(a.Path, b.Path) })
	}
	from := 0
	fmt.Sscan(in.PageToken, &from)
	to := min(from+2, len(all))
	out.Notes = all[from:to]
	if to < len(all) {
		out.Note("next_page_token", fmt.Sprint(to))
	}
	return out, nil
}

// tools returns the tools of the cabinet. A call has at most three files and 200 bytes.
func (c *cabinet) tools() []*tool.Tool {
	spec := func(name string, kind tool.Kind, way tool.Command) tool.Spec {
		return tool.Spec{
			Name: name, Family: papers, Title: name, Doc: "Says " + name + ".",
			Role: auth.Admin, Kind: kind, Commands: []tool.Command{way},
		}
	}
	in := spec("bring", tool.Write, word("vault import"))
	in.Input = &tool.Files{Arg: "notes", MaxFiles: 3, MaxBytes: 200, Before: &tool.Before{
		Flag: "create", Doc: "make the vault", Tool: "make", Args: map[string]string{"name": "vault"},
	}}
	out := spec("take", tool.Read, word("vault export"))
	out.Output = &tool.Files{Arg: "notes"}
	return []*tool.Tool{
		tool.New(in, c.bring), tool.New(out, c.take),
		tool.New(spec("make", tool.Write, word("vault create", "name")), c.make),
	}
}

// newCabinet returns a cabinet with one empty vault, and a shell that uses it.
func newCabinet(t *testing.T) (*cabinet, *shell) {
	t.Helper()
	c := &cabinet{vaults: map[string]map[string]string{"v": {}}}
	s := newShell(t, c.tools())
	s.env["ROOKERY_VAULT"] = "v"
	return c, s
}

// folder creates a folder of files. A text that begins with "-> " is a link.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		at := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o755))
		if to, isLink := strings.CutPrefix(text, "-> "); isLink {
			require.NoError(t, os.Symlink(to, at))
			continue
		}
		require.NoError(t, os.WriteFile(at, []byte(text), 0o600))
	}
	return dir
}

// contents returns the regular files of a folder.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		rel, _ := filepath.Rel(dir, name)
		files[filepath.ToSlash(rel)] = string(data)
		return err
	}))
	return files
}

func unzip(t *testing.T, name string) map[string]string {
	t.Helper()
	r, err := zip.OpenReader(name)
	require.NoError(t, err)
	defer r.Close()
	files := map[string]string{}
	for _, f := range r.File {
		r, err := f.Open()
		require.NoError(t, err)
		data, err := io.ReadAll(r)
		require.NoError(t, err)
		files[f.Name] = string(data)
	}
	return files
}

// archive creates an archive of empty files.
func archive(t *testing.T, names ...string) string {
	t.Helper()
	at := filepath.Join(t.TempDir(), "in.zip")
	f, err := os.Create(at)
	require.NoError(t, err)
	w := zip.NewWriter(f)
	for _, name := range names {
		_, err = w.Create(name)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	require.NoError(t, f.Close())
	return at
}

func TestRoundTrip(t *testing.T) {
	notes := map[string]string{
		"a.md": "a\r\nb", "people/freya.md": "\ufeff---\nx: 1\n---\n", "z/y/x.md": "",
		"schema.yaml": "types: {}\n", "raven.yaml": "x", "rookery.yaml": "y",
		".raven/audit.log": "{}\n", ".raven/audit.2026-10.log": "{ }\n", "b.md": "<&>\u2028\x01", "c.md": strings.Repeat("long ", 50),
	}
	dir := folder(t, notes)
	c, s := newCabinet(t)
	code, out, errs := s.run("vault", "import", dir)
	require.Zero(t, code, errs)
	require.Equal(t, "10 created, 0 skipped, version v10\n", out)
	require.Empty(t, errs)
	require.Equal(t, notes, c.vaults["v"])

	to := filepath.Join(t.TempDir(), "new", "out")
	code, out, errs = s.run("vault", "export", to)
	require.Zero(t, code, errs)
	require.Equal(t, "10 files, path "+to+"\n", out)
	require.Equal(t, notes, contents(t, to))

	zipped := filepath.Join(t.TempDir(), "out.zip")
	code, _, errs = s.run("vault", "export", zipped)
	require.Zero(t, code, errs)
	require.Equal(t, notes, unzip(t, zipped))

	c.vaults["w"] = map[string]string{}
	code, _, errs = s.run("vault", "import", zipped, "--vault", "w")
	require.Zero(t, code, errs)
	require.Equal(t, notes, c.vaults["w"])
}

func TestSameExportMakesTheSameArchive(t *testing.T) {
	c, s := newCabinet(t)
	c.vaults["v"] = map[string]string{"a.md": "a", "b.md": "b", "c.md": "c"}
	dir := t.TempDir()
	for _, name := range []string{"one.zip", "two.zip"} {
		code, _, errs := s.run("vault", "export", filepath.Join(dir, name))
		require.Zero(t, code, errs)
	}
	files := contents(t, dir)
	require.Len(t, files, 2, "nothing else is left beside the archives")
	require.Equal(t, files["one.zip"], files["two.zip"])
}

// A narrow is an Invoker that refuses calls above a size in bytes, as a gateway does.
type narrow struct {
	tool.Invoker
	most int
	took *[]int // sizes of the refused calls
}

func (n narrow) Invoke(ctx context.Context, name string, args json.RawMessage) (json.RawMessage, error) {
	if len(args) > n.most {
		*n.took = append(*n.took, len(args))
		f := fault.New(fault.BatchTooLarge, "too large")
		f.BodyTooLarge = true
		return nil, f
	}
	return n.Invoker.Invoke(ctx, name, args)
}

// TestImportIsHalved checks that calls that are too large for a gateway are split in halves, also
// later ones, and that each file is imported once. A single file that is too large is refused.
func TestImportIsHalved(t *testing.T) {
	c, s := newCabinet(t)
	var refused []int
	s.inner = narrow{s.inner, 230, &refused}
	files := map[string]string{}
	for i := range 9 { // three files per call
		files[fmt.Sprintf("%d.md", i)] = strings.Repeat("x", 30)
	}
	code, out, errs := s.run("vault", "import", folder(t, files))
	require.Zero(t, code, errs)
	require.Equal(t, "9 created, 0 skipped, version v9\n", out)
	require.Equal(t, files, c.vaults["v"])
	require.Len(t, refused, 1, "it is tried once")
	keys := map[string]bool{}
	for _, made := range s.calls {
		_, key, ok := strings.Cut(made.args, `"idempotency_key":"`)
		require.True(t, ok, made.args)
		keys[key[:32]] = true
	}
	require.Len(t, keys, len(s.calls), "each call has a key of its own")

	code, _, errs = s.run("vault", "import", folder(t, map[string]string{"large.md": strings.Repeat("x", 300)}))
	require.NotZero(t, code)
	require.Contains(t, errs, "too large")
}

func TestImportIsSplitInOrder(t *testing.T) {
	_, s := newCabinet(t)
	files := map[string]string{"schema.yaml": "s", "Z.md": "", "a.md": "", "b.md": "", "c.md": ""}
	files["d.md"] = strings.Repeat("d", 300) // alone, because it is larger than a call
	files["e.md"] = strings.Repeat(`"`, 60)  // 120 bytes as JSON
	files["f.md"] = strings.Repeat(`"`, 60)
	code, _, errs := s.run("vault", "import", folder(t, files))
	require.Zero(t, code, errs)
	var sent [][]string
	keys := map[string]bool{}
	for _, c := range s.calls {
		var args struct {
			Notes []entry
			Key   string `json:"idempotency_key"`
		}
		require.NoError(t, json.Unmarshal([]byte(c.args), &args))
		var paths []string
		for _, n := range args.Notes {
			paths = append(paths, n.Path)
		}
		sent = append(sent, paths)
		keys[args.Key] = true
	}
	require.Equal(t, [][]string{
		{"schema.yaml", "Z.md", "a.md"}, {"b.md", "c.md"}, {"d.md"}, {"e.md"}, {"f.md"},
	}, sent)
	require.Len(t, keys, 5)
	require.NotContains(t, keys, "")
}

func TestIdempotencyKeysFollowFromTheCallers(t *testing.T) {
	dir := folder(t, map[string]string{"a.md": "a", "b.md": "b"})
	keys := func(args ...string) string {
		_, s := newCabinet(t)
		code, _, errs := s.run(append([]string{"vault", "import", dir}, args...)...)
		require.Zero(t, code, errs)
		var in struct {
			Key string `json:"idempotency_key"`
		}
		require.NoError(t, json.Unmarshal([]byte(s.calls[0].args), &in))
		return in.Key
	}
	require.NotEqual(t, keys(), keys(), "without a key each run has its own")
	require.Equal(t, keys("--idempotency-key", "k"), keys("--idempotency-key", "k"))
	require.NotEqual(t, keys("--idempotency-key", "k"), keys("--idempotency-key", "l"))
}

func TestWhatIsNoNoteIsNamed(t *testing.T) {
	files := map[string]string{
		"a.md": "a", "img.png": "p", "sub/x.canvas": "c", "_folder.md": "f", ".hidden.md": "h",
		".obsidian/app.json": "{}", "sub/.trash/x.md": "x", ".raven/index.db": "i", ".raven/x/y.md": "y",
		"up.md": "-> ../../etc/hostname", "loop": "-> .", "sub/schema.yaml": "no configuration here",
	}
	dir := folder(t, files)
	c, s := newCabinet(t)
	code, out, errs := s.run("vault", "import", dir)
	require.Zero(t, code, errs)
	require.Equal(t, "2 created, 0 skipped, version v2\n", out)
	require.Equal(t, `skipped (a link or a device): loop, up.md
skipped (its name begins with a dot): .hidden.md, .obsidian/, .raven/index.db, .raven/x/, sub/.trash/
skipped (not a note): img.png, sub/schema.yaml, sub/x.canvas
`, errs)
	require.Equal(t, map[string]string{"a.md": "a", "_folder.md": "f"}, c.vaults["v"])

	_, out, errs = s.run("vault", "import", dir, "--json")
	require.Empty(t, errs)
	require.Contains(t, out, `"left_out":[{"path":".hidden.md","reason":"its name begins with a dot"},`)
}

func TestOnlyTheFirstFilesThatAreNoNotesAreNamed(t *testing.T) {
	files := map[string]string{"a.md": "a"}
	for i := range 23 {
		files[fmt.Sprintf("%02d.png", i)] = "p"
	}
	_, s := newCabinet(t)
	_, _, errs := s.run("vault", "import", folder(t, files))
	require.Contains(t, errs, ", 19.png and 3 more\n")
	require.NotContains(t, errs, "20.png")
}

func TestBadFilesAreRefusedTogetherBeforeAnyCall(t *testing.T) {
	dir := folder(t, map[string]string{
		"a.md": "fine", "big.md": strings.Repeat("x", 1<<20+1), "most.md": strings.Repeat("x", 1<<20),
		"latin.md": "caf\xe9", ".raven/audit.log": strings.Repeat("x", 1<<20+1),
	})
	_, s := newCabinet(t)
	code, out, errs := s.run("vault", "import", dir, "--create", "--vault", "w")
	require.Equal(t, 2, code)
	require.Empty(t, out)
	require.Equal(t, `error: 2 validation errors found (VALIDATION_FAILED)
  - big.md: a note has at most 1 MiB (NOTE_TOO_LARGE)
  - latin.md: the text is not valid UTF-8 (INVALID_VALUE)
`, errs)
	require.Empty(t, s.calls)
}

func TestPathThatHoldsNoNotesIsRefused(t *testing.T) {
	dir := folder(t, map[string]string{"x.png": "x", "y.txt": "y", "broken.zip": "no archive"})
	for path, want := range map[string]string{
		dir:                              "there is no note in",
		filepath.Join(dir, "nowhere"):    "there is no folder or .zip file",
		filepath.Join(dir, "y.txt"):      "is neither a folder nor a .zip file",
		filepath.Join(dir, "broken.zip"): "cannot be read: it is not a complete .zip file",
	} {
		_, s := newCabinet(t)
		code, _, errs := s.run("vault", "import", path)
		require.Equal(t, 2, code, path)
		require.Contains(t, errs, want)
		require.Contains(t, errs, path)
		require.Empty(t, s.calls)
	}
	_, s := newCabinet(t)
	code, _, errs := s.run("vault", "import")
	require.Equal(t, 1, code)
	require.Contains(t, errs, "a folder or a .zip file is missing")
	code, _, _ = s.run("vault", "import", "--json")
	require.Equal(t, 2, code, "a plain call: the tool says what is missing")
}

func TestFilesMayStandInTheInput(t *testing.T) {
	c, s := newCabinet(t)
	code, _, errs := s.run("vault", "import", "--input", `{"notes":[{"path":"a.md","text":"x"}]}`)
	require.Zero(t, code, errs)
	code, _, errs = s.run("vault", "import", "--vault", "w", "--create",
		"--input", `{"notes":[{"path":"a.md","text":"x"}]}`)
	require.Zero(t, code, errs)
	require.Equal(t, map[string]string{"a.md": "x"}, c.vaults["w"])
	code, _, errs = s.run("vault", "import", "--notes", `[{"path":"b.md","text":"y"}]`)
	require.Zero(t, code, errs)
	require.Equal(t, map[string]string{"a.md": "x", "b.md": "y"}, c.vaults["v"])

	code, _, errs = s.run("vault", "import", "--notes", folder(t, map[string]string{"c.md": "z"}))
	require.Zero(t, code, errs)
	require.Equal(t, "z", c.vaults["v"]["c.md"])
	code, _, _ = s.run("vault", "import", "x", "--notes", "y")
	require.Equal(t, 1, code)
}

func TestArchiveThatLeadsOutIsRefused(t *testing.T) {
	for _, name := range []string{"../x.md", "/etc/x.md", "a/../../x.md", "a//b.md"} {
		_, s := newCabinet(t)
		code, _, errs := s.run("vault", "import", archive(t, name))
		require.Equal(t, 2, code)
		require.Contains(t, errs, "(INVALID_PATH)")
		require.Contains(t, errs, name)
		require.Empty(t, s.calls)
	}
}

func TestCreateMakesTheVaultFirst(t *testing.T) {
	dir := folder(t, map[string]string{"a.md": "a"})
	c, s := newCabinet(t)
	for range 2 { // the second time it exists
		code, _, errs := s.run("vault", "import", dir, "--vault", "w", "--create")
		require.Zero(t, code, errs)
	}
	require.Equal(t, map[string]string{"a.md": "a"}, c.vaults["w"])
	require.Equal(t, call{"make", `{"name":"w"}`}, s.calls[0])

	code, out, errs := s.run("vault", "import", dir, "--vault", "new", "--create", "--dry-run")
	require.Zero(t, code, errs)
	require.Equal(t, "dry run, 1 files\n", out)
	require.NotContains(t, c.vaults, "new")

	code, out, _ = s.run("vault", "import", dir, "--dry-run", "--create")
	require.Zero(t, code)
	require.Equal(t, "dry run, 1 created, 0 skipped, version v0\n", out)
	require.Empty(t, c.vaults["v"])

	s.fails[len(s.calls)] = fault.New(fault.PermissionDenied, "you need admin")
	code, _, _ = s.run("vault", "import", dir, "--vault", "x", "--create")
	require.Equal(t, 3, code)
}

func TestInterruptedImportIsRepeated(t *testing.T) {
	files := map[string]string{}
	for i := range 8 {
		files[fmt.Sprintf("%d.md", i)] = "x"
	}
	dir := folder(t, files)
	c, s := newCabinet(t)
	s.fails[1] = fault.New(fault.QuotaExceeded, "the vault is full")
	code, out, errs := s.run("vault", "import", dir)
	require.Equal(t, 8, code)
	require.Equal(t, "created: 0.md, 1.md, 2.md\nskipped: 0\nversion: v3\n", out)
	require.Equal(t, `error: the vault is full (QUOTA_EXCEEDED)
  files: 8
  files_in: 3
try: then run the same command again: imported files are skipped
`, errs)

	s.fails[len(s.calls)+1] = s.fails[1]
	code, out, errs = s.run("vault", "import", dir, "--json")
	require.Equal(t, 8, code)
	require.Empty(t, errs)
	require.Contains(t, out, `"files_in":3`)
	require.Contains(t, out, `"data":{"created":[],"skipped":3,"version":"v3","left_out":[]}`)

	code, out, _ = s.run("vault", "import", dir)
	require.Zero(t, code)
	require.Equal(t, "5 created, 3 skipped, version v8\n", out)
	require.Equal(t, files, c.vaults["v"])
}

func TestImportWaitsWhereItIsToldTo(t *testing.T) {
	dir := folder(t, map[string]string{"a.md": "a"})
	_, s := newCabinet(t)
	busy := fault.New(fault.RateLimited, "too many calls").After(3 * time.Second)
	s.fails[0], s.fails[1] = busy, busy
	code, _, errs := s.run("vault", "import", dir)
	require.Zero(t, code, errs)
	require.Equal(t, []time.Duration{3 * time.Second, 3 * time.Second}, s.waits)
	require.Equal(t, s.calls[0], s.calls[2], "the same call, with the same key")

	s.fails[len(s.calls)] = fault.New(fault.QuotaExceeded, "tomorrow").After(time.Hour)
	code, _, _ = s.run("vault", "import", dir)
	require.Equal(t, 8, code)
	require.Len(t, s.waits, 2, "not for an hour")

	for i := range 10 {
		s.fails[len(s.calls)+i] = busy
	}
	code, _, _ = s.run("vault", "import", dir)
	require.Equal(t, 8, code, "but not for ever")
}

func TestProgressIsShownToPeople(t *testing.T) {
	dir := folder(t, map[string]string{"a.md": "a", "b.md": "b"})
	_, s := newCabinet(t)
	s.app.Progress = true
	code, _, errs := s.run("vault", "import", dir)
	require.Zero(t, code)
	require.Contains(t, errs, "(0/2)")
	s.app.Progress = false
	_, _, errs = s.run("vault", "import", dir)
	require.Empty(t, errs)
}

func TestPartsAreJoined(t *testing.T) {
	c, s := newCabinet(t)
	c.parts = []entry{
		{".raven/audit.log", "1", 1}, {".raven/audit.log", "2", 2}, {".raven/audit.log", "3", 3},
		{"a.md", "a", 0}, {"b.md", "b", 1},
	}
	want := map[string]string{".raven/audit.log": "123", "a.md": "a", "b.md": "b"}
	dir := t.TempDir()
	code, out, errs := s.run("vault", "export", dir, "--json")
	require.Zero(t, code, errs)
	require.Contains(t, out, `"data":{"files":3,"path":`)
	require.Equal(t, want, contents(t, dir))
	zipped := filepath.Join(dir, "x.zip")
	code, _, errs = s.run("vault", "export", zipped)
	require.Zero(t, code, errs)
	require.Equal(t, want, unzip(t, zipped))

	c.parts = []entry{{"a.md", "a", 1}, {"b.md", "b", 2}}
	for _, to := range []string{filepath.Join(t.TempDir(), "x.zip"), t.TempDir()} {
		code, _, errs = s.run("vault", "export", to)
		require.Equal(t, 2, code)
		require.Contains(t, errs, "(INTERNAL)")
	}
}

func TestExportLeavesOtherFilesAlone(t *testing.T) {
	dir := folder(t, map[string]string{"a.md": "old", "mine.txt": "mine", "x/mine.md": "mine"})
	c, s := newCabinet(t)
	c.vaults["v"] = map[string]string{"a.md": "new", "x/b.md": "b"}
	code, out, errs := s.run("vault", "export", dir)
	require.Zero(t, code, errs)
	require.Equal(t, "2 files, path "+dir+", 2 other files kept\n", out)
	require.Equal(t, map[string]string{
		"a.md": "new", "mine.txt": "mine", "x/b.md": "b", "x/mine.md": "mine",
	}, contents(t, dir))
}

func TestExportWritesNothingOutside(t *testing.T) {
	for _, path := range []string{
		"../x.md", "/tmp/x.md", "a/../../x.md", "", ".", "a/", "a\x00.md", ".git/hooks/post-checkout",
		".bashrc", "x/.git/config", ".raven/index.db",
	} {
		t.Run(path, func(t *testing.T) {
			above := t.TempDir()
			c, s := newCabinet(t)
			c.parts = []entry{{path, "evil", 0}}
			for _, to := range []string{filepath.Join(above, "out"), filepath.Join(above, "out.zip")} {
				code, _, errs := s.run("vault", "export", to)
				require.Equal(t, 2, code)
				require.Contains(t, errs, "(INVALID_PATH)")
			}
			require.Empty(t, contents(t, above))
		})
	}
}

func TestExportFollowsNoLinkOut(t *testing.T) {
	outside := folder(t, map[string]string{"kept.md": "kept"})
	dir := folder(t, map[string]string{
		"way": "-> " + outside, "a.md": "-> " + filepath.Join(outside, "kept.md"),
	})
	c, s := newCabinet(t)
	c.vaults["v"] = map[string]string{"way/out.md": "evil"}
	code, _, errs := s.run("vault", "export", dir)
	require.Equal(t, 2, code)
	require.Contains(t, errs, `"way/out.md" is outside the folder (INVALID_PATH)`)

	c.vaults["v"] = map[string]string{"a.md": "new"}
	code, _, errs = s.run("vault", "export", dir)
	require.Zero(t, code, errs)
	require.Equal(t, map[string]string{"kept.md": "kept"}, contents(t, outside))
	info, err := os.Lstat(filepath.Join(dir, "a.md"))
	require.NoError(t, err)
	require.True(t, info.Mode().IsRegular(), "the link is replaced, not followed")
}

func TestInterruptedExportLeavesWholeFiles(t *testing.T) {
	c, s := newCabinet(t)
	c.vaults["v"] = map[string]string{"a.md": "a", "b.md": "b", "c.md": "c"}
	s.fails[1] = fault.New(fault.StorageError, "no storage")
	dir := t.TempDir()
	code, _, errs := s.run("vault", "export", dir)
	require.Equal(t, 6, code)
	require.Contains(t, errs, "files_written: 2")
	for name, text := range contents(t, dir) {
		require.Equal(t, c.vaults["v"][name], text, "no half of a file is left: %s", name)
	}

	s.fails[len(s.calls)+1] = s.fails[1]
	zipped := filepath.Join(t.TempDir(), "x.zip")
	require.NoError(t, os.WriteFile(zipped, []byte("before"), 0o600))
	code, _, _ = s.run("vault", "export", zipped)
	require.Equal(t, 6, code)
	require.Equal(t, map[string]string{"x.zip": "before"}, contents(t, filepath.Dir(zipped)))
}

func TestExportThatPagesForEverEnds(t *testing.T) {
	_, s := newCabinet(t)
	s.inner = canned(`{"ok":true,"data":{"notes":[]},"warnings":[],"meta":{"next_page_token":"x"}}`)
	code, _, errs := s.run("vault", "export", t.TempDir())
	require.Equal(t, 2, code)
	require.Contains(t, errs, "(INTERNAL)")
	require.Len(t, s.calls, 2)
}

func TestRefusedExportMakesNothing(t *testing.T) {
	_, s := newCabinet(t)
	above := t.TempDir()
	for _, name := range []string{"out", "out.zip"} {
		s.fails[len(s.calls)] = fault.New(fault.NotFound, "there is no vault")
		code, _, errs := s.run("vault", "export", filepath.Join(above, name))
		require.Equal(t, 4, code)
		require.Equal(t, "error: there is no vault (NOT_FOUND)\n", errs)
	}
	entries, err := os.ReadDir(above)
	require.NoError(t, err)
	require.Empty(t, entries)
}

func TestNamesThatNoVaultHasAreRefusedTogether(t *testing.T) {
	_, s := newCabinet(t)
	code, _, errs := s.run("vault", "import", "--strict", archive(t, "a:b.md", "con.md", "Same.md", "same.md"))
	require.Equal(t, 2, code)
	require.Contains(t, errs, "a:b.md: ")
	require.Contains(t, errs, "con.md: ")
	require.Contains(t, errs, "same.md: it differs only by case or normalization from Same.md (DUPLICATE_ID)")
	require.Empty(t, s.calls)
}

func TestNamesThatNoVaultHasAreLeftOut(t *testing.T) {
	c, s := newCabinet(t)
	code, _, errs := s.run("vault", "import", archive(t, "a:b.md", "con.md", "Same.md", "same.md", "fine.md", "two\nlines.md"))
	require.Zero(t, code, errs)
	require.Contains(t, errs, `two\u000alines.md`, "a name is no second line")
	require.Contains(t, errs, "skipped (invalid name: ")
	for _, name := range []string{"a:b.md", "con.md", "same.md"} {
		require.Contains(t, errs, name)
	}
	require.Len(t, c.vaults["v"], 2, "Same.md and fine.md are in")
	code, _, errs = s.run("vault", "import", archive(t, "a:b.md"))
	require.Equal(t, 2, code)
	require.Contains(t, errs, "has a valid name for a note")
}

func TestNotesKeepTheirEndings(t *testing.T) {
	c, s := newCabinet(t)
	code, _, errs := s.run("vault", "import", "--strict", archive(t, "UPPER.MD", "x.markdown"))
	require.Zero(t, code, errs)
	require.Len(t, c.vaults["v"], 2)
	require.Contains(t, c.vaults["v"], "UPPER.MD")
}

func TestExportIntoAFileIsRefused(t *testing.T) {
	_, s := newCabinet(t)
	dir := folder(t, map[string]string{"x.txt": "x"})
	code, _, errs := s.run("vault", "export", filepath.Join(dir, "x.txt"))
	require.Equal(t, 2, code)
	require.Contains(t, errs, "is neither a folder nor a .zip file")
	code, _, errs = s.run("vault", "export", filepath.Join(dir, "x.txt", "sub"))
	require.Equal(t, 2, code)
	require.Contains(t, errs, "cannot be written")
	code, _, _ = s.run("vault", "export")
	require.Equal(t, 1, code)
	code, out, _ := s.run("vault", "export", "--bare")
	require.Zero(t, code)
	require.Equal(t, `{"notes":[]}`+"\n", strings.Replace(out, "null", "[]", 1))
}

func TestNamesComeInComposed(t *testing.T) {
	c, s := newCabinet(t)
	code, _, errs := s.run("vault", "import", folder(t, map[string]string{"cafe\u0301.md": "x"}))
	require.Zero(t, code, errs)
	require.Equal(t, map[string]string{"caf\u00e9.md": "x"}, c.vaults["v"])
}

func TestAnswersOfCallsAreAddedUp(t *testing.T) {
	files := map[string]string{}
	for i := range 6 { // three per call, so two calls
		files[fmt.Sprintf("%d.md", i)] = "x"
	}
	_, s := newCabinet(t)
	var warnings []string
	for range 60 {
		warnings = append(warnings, `{"code":"NOTE_QUARANTINED","message":"odd"}`)
	}
	s.inner = canned(`{"ok":true,"data":{"n":2,"f":0.5,"of":{"a":1},"l":[1],"v":"v1"},
		"warnings":[` + strings.Join(warnings, ",") + `],"meta":{"version":"v1"}}`)
	code, out, _ := s.run("vault", "import", folder(t, files), "--json")
	require.Zero(t, code)
	var sum struct {
		Data     json.RawMessage
		Warnings []tool.Warning
	}
	require.NoError(t, json.Unmarshal([]byte(out), &sum))
	require.JSONEq(t, `{"n":4,"f":1,"of":{"a":2},"l":[1,1],"v":"v1","left_out":[]}`, string(sum.Data))
	require.Len(t, sum.Warnings, 100)
	require.Equal(t, "WARNINGS_TRUNCATED", sum.Warnings[99].Code)
}

func TestWaitEndsWithTheContext(t *testing.T) {
	_, s := newCabinet(t)
	s.app.Wait = nil
	s.fails[0] = fault.New(fault.RateLimited, "too many calls").After(time.Minute)
	ctx, cancel := context.WithCancel(t.Context())
	connect := s.app.Connect
	s.app.Connect = func(c context.Context, at clitool.Target) (tool.Invoker, io.Closer, error) {
		cancel()
		return connect(c, at)
	}
	require.Equal(t, 8, s.app.Run(ctx, []string{"vault", "import", folder(t, map[string]string{"a.md": ""})}))
	require.Len(t, s.calls, 1)
}
