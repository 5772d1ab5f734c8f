package tooltest_test

import (
	"archive/zip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

// brought are the entries that an import of a path makes, in order.
func brought(t *testing.T, path string) []tooltest.NodeFile {
	t.Helper()
	p := run(t, "", "--json", "node", "import", "dump", path)
	require.Zero(t, p.Exit, p.Err)
	var data struct{ Imported []tooltest.NodeFile }
	require.NoError(t, json.Unmarshal([]byte(p.Out), &data), p.Out)
	return data.Imported
}

// written writes a file and returns its path.
func written(t *testing.T, name, text string) string {
	t.Helper()
	at := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o755))
	require.NoError(t, os.WriteFile(at, []byte(text), 0o600))
	return at
}

// TestFurtherFilesIn holds which files come in, and how.
func TestFurtherFilesIn(t *testing.T) {
	dir := filepath.Dir(written(t, "a.txt", "a"))
	for name, text := range map[string]string{"b.bin": "\xff\x00", ".hidden": "h", "sub/c.md": "c"} {
		at := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o755))
		require.NoError(t, os.WriteFile(at, []byte(text), 0o600))
	}
	want := []tooltest.NodeFile{
		{Path: "a.txt", Content: "a"},
		{Path: "b.bin", Base64: base64.StdEncoding.EncodeToString([]byte("\xff\x00"))},
		{Path: "sub/c.md", Content: "c"},
	}
	require.Equal(t, want, brought(t, dir))
	require.Equal(t, want[:1], brought(t, filepath.Join(dir, "a.txt")))
	require.Equal(t, []tooltest.NodeFile{{Path: ".hidden", Content: "h"}}, brought(t, filepath.Join(dir, ".hidden")),
		"the caller has named it")
	p := run(t, "", "--json", "node", "import", "dump", filepath.Join(dir, "none"))
	require.Equal(t, 1, p.Exit)
	require.Contains(t, p.Err, "there is no file or folder")
}

// TestFurtherFilesPicked covers that the value of an argument says which files come in, hidden ones only by a whole
// path, and that a file that is named alone comes in whatever it is called.
func TestFurtherFilesPicked(t *testing.T) {
	dir := filepath.Dir(written(t, "a.TXT", "a"))
	for _, name := range []string{"sub/b.txt", "c.md", ".kept/log.txt", ".kept/log.1.txt", ".kept/other.txt", ".d.txt"} {
		at := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o755))
		require.NoError(t, os.WriteFile(at, []byte("x"), 0o600))
	}
	imported := func(args ...string) (names []string, p tooltest.Printed) {
		p = run(t, "", append([]string{"node", "import"}, args...)...)
		var answer struct {
			Data struct {
				Imported []tooltest.NodeFile
				LeftOut  []struct{ Path, Reason string } `json:"left_out"`
			}
			Meta struct {
				LeftOut []struct{ Path, Reason string } `json:"left_out"`
			}
		}
		require.NoError(t, json.Unmarshal([]byte(p.Out), &answer), "%s%s", p.Out, p.Err)
		for _, f := range answer.Data.Imported {
			names = append(names, f.Path)
		}
		for _, f := range append(answer.Data.LeftOut, answer.Meta.LeftOut...) {
			names = append(names, "not "+f.Path)
		}
		return names, p
	}
	names, _ := imported("texts", dir, "--envelope", "--json")
	require.Contains(t, names, "a.TXT")
	require.Contains(t, names, "sub/b.txt")
	require.Contains(t, names, "not c.md")
	require.Contains(t, names, ".kept/log.1.txt")
	require.NotContains(t, names, ".kept/other.txt")
	require.NotContains(t, names, ".d.txt")
	names, _ = imported("texts", filepath.Join(dir, "c.md"), "--envelope", "--json")
	require.Equal(t, []string{"c.md"}, names)
	for _, kind := range []string{"other", ""} {
		p := run(t, "", "node", "import", kind, dir)
		require.NotZero(t, p.Exit)
		require.Contains(t, p.Err, "dump, texts")
	}
	p := run(t, "", "node", "import", "texts", filepath.Dir(written(t, "a.md", "a")))
	require.NotZero(t, p.Exit)
	require.Contains(t, p.Err, "*.txt")
}

// TestFurtherFilesInPart covers that a file which is refused does not stop the others, in later calls too, and is
// named at the end.
func TestFurtherFilesInPart(t *testing.T) {
	dir := t.TempDir()
	for i := range 8 { // three a call
		text := "fine"
		if i == 1 || i == 5 {
			text = "refuse"
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.txt", i)), []byte(text), 0o600))
	}
	p := run(t, "", "node", "import", "dump", dir, "--envelope", "--json")
	require.NotZero(t, p.Exit)
	var answer struct {
		Data  struct{ Count int }
		Error struct {
			Code   string
			Errors []struct{ Location struct{ File string } }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(p.Out), &answer), "%s%s", p.Out, p.Err)
	require.Equal(t, 6, answer.Data.Count)
	require.Equal(t, "NOTE_TOO_LARGE", answer.Error.Code)
	require.Len(t, answer.Error.Errors, 2)
	require.Equal(t, "5.txt", answer.Error.Errors[1].Location.File)
	p = run(t, "", "node", "import", "dump", dir)
	require.Contains(t, p.Out, "6 imported")
	require.Contains(t, p.Err, "2 problems")
}

// TestFurtherFilesCut holds how a file that is too large for a call is cut.
func TestFurtherFilesCut(t *testing.T) {
	var items []string
	for i := range 60 {
		items = append(items, fmt.Sprintf(`{"n":%d,"text":"a \"b\" é"}`, i))
	}
	list := strings.Join(items, ",\n ")
	for name, c := range map[string]struct{ text, head, tail string }{
		"a list":             {"[" + list + "]\n", "[", "]\n"},
		"in an object":       {`{"v":{"x":[1]},"all":[` + list + `],"none":[],"w":1}`, `{"v":{"x":[1]},"all":[`, `],"none":[],"w":1}`},
		"with a mark":        {"\ufeff[" + list + "]", "\ufeff[", "]"},
		"numbers and blanks": {"[ " + strings.Repeat("1 ,  22,", 100) + "3 ]", "[ ", " ]"},
	} {
		t.Run(name, func(t *testing.T) {
			entries := brought(t, written(t, "dump.json", c.text))
			require.Greater(t, len(entries), 2)
			var all []any
			for i, e := range entries {
				require.Equal(t, "dump.json", e.Path)
				require.Equal(t, i+1, e.Part)
				require.Equal(t, len(all), e.Offset)
				require.True(t, strings.HasPrefix(e.Content, c.head) && strings.HasSuffix(e.Content, c.tail), e.Content)
				all = append(all, elementsOf(t, e.Content)...)
			}
			require.Equal(t, elementsOf(t, c.text), all)
		})
	}
}

// elementsOf are the elements of the one list in a JSON text.
func elementsOf(t *testing.T, text string) []any {
	t.Helper()
	var v any
	require.NoError(t, json.Unmarshal([]byte(strings.TrimPrefix(text, "\ufeff")), &v), text)
	if object, ok := v.(map[string]any); ok {
		v = object["all"]
	}
	return v.([]any)
}

// TestFurtherRowsCut holds that each piece of a CSV file has its first row.
func TestFurtherRowsCut(t *testing.T) {
	for name, c := range map[string]struct{ head, row, end string }{
		"commas":              {"a,b\n", "\"one, \"\"two\"\"\nthree\",%d\n", ""},
		"semicolons":          {"a;b\r\n", "\"one; two\nthree\";%d\r\n", ""},
		"a mark":              {"\ufeffa,b\n", "x,%d\n", ""},
		"no last line break":  {"a,b\n", "x,%d\n", "y,0"},
		"blank lines between": {"a,b\n", "x,%d\n\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			text := c.head
			for i := range 80 {
				text += fmt.Sprintf(c.row, i)
			}
			text += c.end
			entries := brought(t, written(t, "rows.csv", text))
			require.Greater(t, len(entries), 1)
			joined, offset := c.head, 0
			for _, e := range entries {
				rest, ok := strings.CutPrefix(e.Content, c.head)
				require.True(t, ok, e.Content)
				require.Equal(t, offset, e.Offset)
				offset += strings.Count(rest, ",") + strings.Count(rest, ";")
				if strings.HasPrefix(c.row, "\"") {
					offset -= strings.Count(rest, "one")
				}
				joined += rest
			}
			blank := regexp.MustCompile(`\n+`)
			require.Equal(t, blank.ReplaceAllString(text, "\n"), blank.ReplaceAllString(joined, "\n"))
		})
	}
}

// TestFurtherFilesTooLarge holds what is said of a file that cannot be cut, before any call.
func TestFurtherFilesTooLarge(t *testing.T) {
	long := strings.Repeat("x", 500)
	for name, c := range map[string]struct{ file, text, want string }{
		"no way to cut it":  {"a.txt", long, "a.txt: the file is larger than the 400 bytes of a call"},
		"one element":       {"a.json", `["a","` + long + `"]`, "element 2 of the file is larger"},
		"no list":           {"a.json", `{"a":"` + long + `"}`, "has no list that could be split"},
		"several lists":     {"a.json", `{"a":[1],"b":["` + long + `"]}`, "has several lists"},
		"not JSON":          {"a.json", `[1,` + long, "is not JSON"},
		"JSON behind JSON":  {"a.json", `[1] ["` + long + `"]`, "is not JSON"},
		"no rows":           {"a.csv", long, "has no list"},
		"much around it":    {"a.json", `{"a":"` + long + `","b":[1,2]}`, "element 1 of the file is larger"},
		"escapes, not size": {"a.txt", strings.Repeat("\x01", 100), "larger than the 400 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			p := run(t, "", "node", "import", "dump", written(t, c.file, c.text))
			require.Equal(t, 1, p.Exit, p.Out)
			require.Contains(t, p.Err, c.want)
		})
	}
}

// TestFurtherFilesCutAnything holds that no element is lost or changed, whatever the elements are, and that each
// entry fits into a call.
func TestFurtherFilesCutAnything(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		raw := rapid.SliceOfN(rapid.StringMatching(`[ -~é日\n\t"\\]{0,40}`), 1, 40).Draw(rt, "texts")
		text, err := json.MarshalIndent(map[string]any{"all": raw, "z": 1}, "", rapid.SampledFrom([]string{"", "\t"}).Draw(rt, "indent"))
		require.NoError(rt, err)
		at := filepath.Join(dir, "x.json")
		require.NoError(rt, os.WriteFile(at, text, 0o600))
		p := run(t, "", "--json", "node", "import", "dump", at)
		require.Zero(rt, p.Exit, p.Err)
		var data struct{ Imported []tooltest.NodeFile }
		require.NoError(rt, json.Unmarshal([]byte(p.Out), &data))
		var all []string
		for _, e := range data.Imported {
			entry, err := tool.Marshal(e)
			require.NoError(rt, err)
			require.LessOrEqual(rt, len(entry), 400)
			var piece struct{ All []string }
			require.NoError(rt, json.Unmarshal([]byte(e.Content), &piece))
			all = append(all, piece.All...)
		}
		require.Equal(rt, raw, all)
	})
}

// TestFurtherBinaryCut holds that a file which is not UTF-8 is cut too, and comes in base64.
func TestFurtherBinaryCut(t *testing.T) {
	text := "a,b\n" + strings.Repeat("caf\xe9,1\n", 100)
	joined := ""
	for i, e := range brought(t, written(t, "latin.csv", text)) {
		data, err := base64.StdEncoding.DecodeString(e.Base64)
		require.NoError(t, err)
		rest, ok := strings.CutPrefix(string(data), "a,b\n")
		require.True(t, ok)
		require.Equal(t, i+1, e.Part)
		joined += rest
	}
	require.Equal(t, text, "a,b\n"+joined)
}

// TestFurtherCutInArchive holds that a file in an archive, which is read forward only, is cut too.
func TestFurtherCutInArchive(t *testing.T) {
	at := filepath.Join(t.TempDir(), "in.zip")
	f, err := os.Create(at)
	require.NoError(t, err)
	w := zip.NewWriter(f)
	entry, err := w.Create("deep/dump.json")
	require.NoError(t, err)
	_, err = io.WriteString(entry, `[`+strings.Repeat(`"abcdefgh",`, 100)+`"z"]`)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.NoError(t, f.Close())
	n := 0
	for _, e := range brought(t, at) {
		require.Equal(t, "deep/dump.json", e.Path)
		n += len(elementsOf(t, e.Content))
	}
	require.Equal(t, 101, n)
}

// exportTo runs an export, and returns what it printed and the files below a folder.
func exportTo(t *testing.T, dir, of, to string) (printed tooltest.Printed, files map[string]string) {
	t.Helper()
	printed = run(t, "", "--json", "node", "export", of, filepath.Join(dir, filepath.FromSlash(to))+strings.Repeat("/", strings.Count(to, "/")))
	files = map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		rel, _ := filepath.Rel(dir, name)
		files[filepath.ToSlash(rel)] = string(data)
		return err
	}))
	return printed, files
}

// TestFurtherFilesOut holds where files are written, what the answer says of them, and that none that is there
// is touched.
func TestFurtherFilesOut(t *testing.T) {
	answer := func(dir, provenance string, rows ...string) string {
		var list []string
		for i := 0; i < len(rows); i += 2 {
			name, err := tool.Marshal(filepath.Join(dir, filepath.FromSlash(rows[i+1])))
			require.NoError(t, err)
			list = append(list, fmt.Sprintf(`{"path":%q,"output":%s}`, rows[i], name))
		}
		return fmt.Sprintf(`{"exported":[%s],"provenance":%q}`, strings.Join(list, ","), provenance) + "\n"
	}
	for name, c := range map[string]struct {
		of, to string
		there  map[string]string
		rows   []string
		files  map[string]string
	}{
		"a lone file":             {"a", "x.txt", nil, []string{"a", "x.txt"}, map[string]string{"x.txt": "text of a"}},
		"a lone file in a folder": {"a", "out", nil, []string{"a", "out/a.txt"}, map[string]string{"out/a.txt": "text of a"}},
		"a folder that is there": {"a", "x.txt", map[string]string{"x.txt/b": "b"}, []string{"a", "x.txt/a.txt"},
			map[string]string{"x.txt/a.txt": "text of a", "x.txt/b": "b"}},
		"a file that is there": {"a", "x.txt", map[string]string{"x.txt": "mine", "x-2.txt": "too"},
			[]string{"a", "x-3.txt"}, map[string]string{"x.txt": "mine", "x-2.txt": "too", "x-3.txt": "text of a"}},
		"a file without the ending": {"a", "mine", map[string]string{"mine": "m"}, []string{"a", "mine-2"},
			map[string]string{"mine": "m", "mine-2": "text of a"}},
		"several pages": {"a,b,c", "x.txt", nil, []string{"a", "x.txt/a.txt", "b", "x.txt/b.txt", "c", "x.txt/c.txt"},
			map[string]string{"x.txt/a.txt": "text of a", "x.txt/b.txt": "text of b", "x.txt/c.txt": "text of c"}},
		"files that are there": {"a,b", "out", map[string]string{"out/a.txt": "mine"},
			[]string{"a", "out/a-2.txt", "b", "out/b.txt"},
			map[string]string{"out/a.txt": "mine", "out/a-2.txt": "text of a", "out/b.txt": "text of b"}},
		"parts and bytes": {"long,bin", "out", nil, []string{"long", "out/long.txt", "bin", "out/bin.txt"},
			map[string]string{"out/long.txt": "one two", "out/bin.txt": "\xff\x00"}},
		"a lone file in parts": {"long", "l.txt", nil, []string{"long", "l.txt"}, map[string]string{"l.txt": "one two"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, text := range c.there {
				at := filepath.Join(dir, filepath.FromSlash(file))
				require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o755))
				require.NoError(t, os.WriteFile(at, []byte(text), 0o600))
			}
			p, files := exportTo(t, dir, c.of, c.to)
			require.Zero(t, p.Exit, p.Err)
			require.Equal(t, answer(dir, c.of, c.rows...), p.Out)
			require.Equal(t, c.files, files)
		})
	}
}

// TestFurtherArchiveOut holds that an archive that is there is not touched.
func TestFurtherArchiveOut(t *testing.T) {
	dir := t.TempDir()
	for i, name := range []string{"out.zip", "out-2.zip"} {
		p, files := exportTo(t, dir, "a,b,c", "out.zip")
		require.Zero(t, p.Exit, p.Err)
		require.Len(t, files, i+1)
		require.Contains(t, p.Out, name)
		r, err := zip.OpenReader(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Len(t, r.File, 3)
		require.NoError(t, r.Close())
	}
}

// TestFurtherFilesCutOff holds that a run which fails leaves whole files, and says what to do.
func TestFurtherFilesCutOff(t *testing.T) {
	dir := t.TempDir()
	p, files := exportTo(t, dir, "a,b,gone", "out")
	require.Equal(t, 2, p.Exit)
	require.Equal(t, `{"error":"there is no such node","code":"NOT_FOUND"}`+"\n", p.Err)
	require.Empty(t, p.Out)
	for name, text := range files {
		require.Equal(t, "text of "+strings.TrimSuffix(filepath.Base(name), ".txt"), text)
	}
	_, files = exportTo(t, dir, "a,b,gone", "cut.zip")
	require.NotContains(t, files, "cut.zip")
	q := run(t, "", "node", "export", "a,b,gone", filepath.Join(dir, "other"))
	require.Contains(t, q.Err, "then delete the files that were written")
}

// TestFurtherFilesForPeople holds what people see of an export, and of the places for paths.
func TestFurtherFilesForPeople(t *testing.T) {
	dir := t.TempDir()
	p := run(t, "", "node", "export", "a,b", filepath.Join(dir, "out"))
	require.Zero(t, p.Exit, p.Err)
	require.Contains(t, p.Out, filepath.Join(dir, "out", "b.txt"))
	p = run(t, "", "node", "export", "a")
	require.Equal(t, 1, p.Exit)
	require.Contains(t, p.Err, "a file, a folder or a .zip file is missing")
	p = run(t, "", "node", "import", "--help")
	require.Contains(t, p.Out, "FILE|DIR|ZIP")
	p = run(t, "", "--json", "node", "export", "a")
	require.Equal(t, `{"exported":[{"path":"a","output":"a.txt"}],"provenance":"a",`+
		`"files":[{"path":"a.txt","content":"text of a"}]}`+"\n", p.Out)
}
