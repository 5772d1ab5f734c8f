package convert_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/convert"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/markdown"
)

// A read is what a note of a result must be.
type read struct{ path, source, id, date, title, body string }

func file(path, text string) convert.File { return convert.File{Path: path, Data: []byte(text)} }

// shown are the notes of a result in the form of a table.
func shown(r *convert.Result) []read {
	var all []read
	for _, n := range r.Notes {
		title := ""
		for _, f := range n.Fields {
			if f.Key == "title" {
				title, _ = f.Value.(string)
			}
		}
		body := n.Body
		if n.Text != nil {
			body = string(n.Text)
		}
		all = append(all, read{n.Path, n.Source, n.SourceID, n.Date, title, body})
	}
	return all
}

// TestRead covers what each kind of export becomes.
func TestRead(t *testing.T) {
	chat := `{"title":%q,"id":%q,"create_time":1700000000.25,"mapping":{` +
		`"r":{"message":null},` +
		`"b":{"message":{"author":{"role":"assistant"},"create_time":2,"content":{"parts":["Hello",{"asset":1},{"text":"again"}]}}},` +
		`"a":{"message":{"author":{"role":"user"},"create_time":1,"content":{"parts":["Hi"]}}}}}`
	said := "**user:**\nHi\n\n**assistant:**\nHello\nagain"
	for _, c := range []struct {
		kind convert.Kind
		file convert.File
		want []read
	}{
		{convert.Markdown, file("a/B.markdown", "# B\n"), []read{{"a/B.md", "markdown", "a/B.markdown", "", "", "# B\n"}}},
		{convert.Markdown, file("a.md", "---\nsource: blog\nsource_id: 7\ncreated: 2024-05-01\n---\nx"), []read{
			{"a.md", "blog", "7", "2024-05-01", "", "---\nsource: blog\nsource_id: 7\ncreated: 2024-05-01\n---\nx"}}},
		{convert.ChatGPT, file("x/conversations.json", "\ufeff["+fmt.Sprintf(chat, "A trip: Ω", "id/1")+"]"), []read{
			{"A_trip__Ω.md", "chatgpt", "chatgpt_id_1", "2023-11-14", "A trip: Ω", said}}},
		{convert.ChatGPT, file("one.json", `{"conversations":{"k":`+fmt.Sprintf(chat, "", "")+`}}`), []read{
			{"Conversation_1.md", "chatgpt", "chatgpt_r", "2023-11-14", "Conversation 1", said}}},
		{convert.ChatGPT, file("conversations.json", `[{"title":"opened only","mapping":{}}]`), nil},
		{convert.Claude, file("conversations.json", `[{"uuid":"u","name":"N","created_at":"2024-03-02T23:30:00-02:00",`+
			`"chat_messages":[{"sender":"human","text":"Q"},{"sender":"assistant","content":[{"type":"text","text":"A"}]}]}]`),
			[]read{{"N.md", "claude", "u", "2024-03-03", "N", "**human:**\nQ\n\n**assistant:**\nA"}}},
		{convert.Claude, file("c.json", `{"chats":[{"content":"text"}]}`), []read{
			{"Claude_1.md", "claude", "claude_0", "", "Claude 1", "text"}}},
		{convert.Claude, file("talk.md", "text"), []read{{"talk.md", "claude", "claude_talk", "", "", "text"}}},
		{convert.Mem0, file("m.json", `{"results":[{"id":"m/1","memory":" tea ","created_at":1700000000000},{"n":1}]}`), []read{
			{"mem0_m_1.md", "mem0", "m/1", "2023-11-14", "", "tea"},
			{"mem0_mem0_1.md", "mem0", "mem0_1", "", "", "```json\n{\n  \"n\": 1\n}\n```"}}},
		{convert.MIF, file("d/a.memory.md", "---\nmif:id: urn:x\n---\ntext\n"), []read{
			{"d/a.md", "mif", "urn:x", "", "", "---\nmif:id: urn:x\n---\ntext\n"}}},
		{convert.MIF, file("a.memory.json", `{"id":"j","title":"T","content":"text","metadata":{"created":"2024-01-02","k":[1]}}`),
			[]read{{"a.md", "mif", "j", "2024-01-02", "T", "text"}}},
		{convert.JSONRows, file("d/rows.json", `[{"uuid":"u","name":"N"}]`), []read{
			{"imports/json/item-00000-f20cc45d7fd2.md", "json-import", "u", "", "N",
				"## Record\n\n```json\n{\n  \"uuid\": \"u\",\n  \"name\": \"N\"\n}\n```"}}},
		{convert.CSV, file("t.csv", "ID;Name\r\n7;\"Ann; B\"\r\n"), []read{
			{"imports/csv/row-00001-5c5ddd2ce4cc.md", "csv-import", "7", "", "t.csv · Ann; B", "# t.csv · Ann; B\n\n- **ID:** 7\n" +
				"- **Name:** Ann; B\n\n## Full row (JSON)\n\n```json\n{\n  \"ID\": \"7\",\n  \"Name\": \"Ann; B\"\n}\n```"}}},
		{convert.CSV, file("t.tsv", "\ta\ta\n\"1\n2\"\t\t3\n"), []read{
			{"imports/csv/row-00001-97c7ea6e3b4e.md", "csv-import", "97c7ea6e3b4e0d9bd3ab2ea6cc51a3a6", "", "t.tsv (row 1)",
				"# t.tsv (row 1)\n\n- **column:** 1\n  2\n- **a:** —\n- **a 2:** 3\n\n## Full row (JSON)\n\n" +
					"```json\n{\n  \"column\": \"1\\n2\",\n  \"a\": \"\",\n  \"a 2\": \"3\"\n}\n```"}}},
	} {
		r, err := convert.Read(c.kind, []convert.File{c.file})
		require.NoError(t, err, "%s %s", c.kind, c.file.Path)
		got := shown(r)
		for i := range got {
			if strings.HasPrefix(got[i].path, "imports/") { // the digest says what it is of, and is not repeated here
				require.Regexp(t, `-\d{5}-[0-9a-f]{12}\.md$`, got[i].path)
				c.want[i].path = got[i].path
			}
			if len(c.want[i].id) == 32 {
				require.Regexp(t, `^[0-9a-f]{32}$`, got[i].id)
				c.want[i].id = got[i].id
			}
		}
		require.Equal(t, c.want, got, "%s %s", c.kind, c.file.Path)
		require.Empty(t, r.Refused)
	}
}

// TestReadRefuses covers files that are not what they must be: all problems at once, with the file and line.
func TestReadRefuses(t *testing.T) {
	for _, c := range []struct {
		kind  convert.Kind
		text  string
		line  int
		match string
	}{
		{convert.JSONRows, "", 0, "empty"},
		{convert.JSONRows, "[{\"a\":1},\n{\"b\":", 2, "ends too early"},
		{convert.JSONRows, "[{\"a\":1},\n\n}", 3, "not valid JSON"},
		{convert.JSONRows, "[]\n[]", 1, "more behind"},
		{convert.JSONRows, `{"a":1}`, 0, "list of objects"},
		{convert.JSONRows, `null`, 0, "list of objects"},
		{convert.JSONRows, "[\"\xff\"]", 0, "UTF-8"},
		{convert.JSONRows, "\xff\xfe[\x00", 0, "UTF-16"},
		{convert.ChatGPT, `{"a":1}`, 0, "conversations"},
		{convert.ChatGPT, `7`, 0, "conversations"},
		{convert.Claude, `{}`, 0, "conversations"},
		{convert.Mem0, `{"memories":7}`, 0, "memories"},
		{convert.MIF, `[]`, 0, "object"},
		{convert.CSV, "", 0, "first row"},
		{convert.CSV, "a,b\n1,x\"y\n", 2, "twice"},
		{convert.CSV, "a,b\n1,2\n3,\"x\n\n", 3, "quotes does not end"},
	} {
		name := "f.json"
		if c.kind == convert.CSV {
			name = "f.csv"
		}
		_, err := convert.Read(c.kind, []convert.File{file(name, c.text)})
		f := fault.Of(err)
		require.Equal(t, fault.InvalidParameter, f.Code, "%s %q", c.kind, c.text)
		require.Contains(t, f.Message, c.match)
		require.Equal(t, &fault.Location{File: name, Line: c.line}, f.Location, "%s %q", c.kind, c.text)
	}
	_, err := convert.Read(convert.Markdown, []convert.File{file("a.md", "\xff"), file("b.md", "ok"), file("c.md", "\xff")})
	require.Len(t, fault.Of(err).Errors, 2)
	_, err = convert.Read(convert.Mem0, []convert.File{file("a.md", ""), file("b.md", "")})
	require.Contains(t, fault.Of(err).Message, "*.json")
	_, err = convert.Read(convert.JSONRows, []convert.File{file("a.json", "["+strings.Repeat("{},", 10_000)+"{}]")})
	require.Equal(t, fault.BatchTooLarge, fault.Of(err).Code)
}

// TestFieldsKeepDigits checks that a number in the fields of a memory keeps its digits.
func TestFieldsKeepDigits(t *testing.T) {
	r, err := convert.Read(convert.MIF, []convert.File{file("a.memory.json",
		`{"id":"j","content":"text","metadata":{"id64":9007199254740993,"n":1.5,"l":[12345678901234567890]}}`)})
	require.NoError(t, err)
	text, err := markdown.Compose(r.Notes[0].Fields, "text")
	require.NoError(t, err)
	require.Equal(t, "---\nid64: \"9007199254740993\"\nn: 1.5\nl:\n  - \"12345678901234567890\"\n---\ntext", string(text))
}

// TestReadLeavesOut covers elements that cannot be notes, and files that are no part of an export: the rest is read.
func TestReadLeavesOut(t *testing.T) {
	r, err := convert.Read(convert.JSONRows, []convert.File{{Path: "r.json", Data: []byte(`[1,{"id":"x"},[]]`), Offset: 10}})
	require.NoError(t, err)
	require.Len(t, r.Notes, 1)
	require.Equal(t, []markdown.Field{{Key: "json_file", Value: "r.json"}, {Key: "item_index", Value: 11.0}}, r.Notes[0].Fields)
	require.Len(t, r.Refused, 2)
	require.Equal(t, "item 13 is not an object", r.Refused[1].Message)

	r, err = convert.Read(convert.CSV, []convert.File{file("r.csv", "a,b\n1,2,3\n4\n")})
	require.NoError(t, err)
	require.Len(t, r.Notes, 1)
	require.Equal(t, 2, r.Refused[0].Location.Line)

	r, err = convert.Read(convert.Claude, []convert.File{
		file("users.json", `[{"uuid":"u"}]`), file("conversations.json", `[]`), file("a.png", "x"),
	})
	require.NoError(t, err)
	require.Equal(t, []string{"users.json", "a.png"}, r.Skipped)
}

// archive is a ZIP archive of files.
func archive(t *testing.T, files ...convert.File) convert.File {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, f := range files {
		to, err := w.Create(f.Path)
		require.NoError(t, err)
		_, err = to.Write(f.Data)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return convert.File{Path: "a.zip", Data: b.Bytes()}
}

// TestUnpack covers archives, and those that lead out of themselves, are too large, or damaged.
func TestUnpack(t *testing.T) {
	seen := func(name string) bool { return !convert.IsHidden(name) }
	whole := archive(t, file("n/a.md", "# A"), file(".git/b.md", "x"), file("__MACOSX/._a.md", "x"))
	files, err := convert.Unpack(whole, seen)
	require.NoError(t, err)
	require.Equal(t, []convert.File{file("n/a.md", "# A")}, files)
	for _, c := range []struct {
		archive convert.File
		code    fault.Code
	}{
		{archive(t, file("../a.md", "x")), fault.InvalidPath},
		{archive(t, file("/a.md", "x")), fault.InvalidPath},
		{archive(t, file(`..\a.md`, "x")), fault.InvalidPath},
		{archive(t, file("a.md", strings.Repeat("x", convert.MaxUnpacked+1))), fault.BatchTooLarge},
		{convert.File{Path: "a.zip", Data: whole.Data[:len(whole.Data)/2]}, fault.InvalidParameter},
		{file("a.zip", ""), fault.InvalidParameter},
	} {
		_, err := convert.Unpack(c.archive, seen)
		require.Equal(t, c.code, fault.Of(err).Code)
		require.Equal(t, "a.zip", fault.Of(err).Location.File)
	}
	damaged := bytes.Clone(whole.Data)
	at := bytes.Index(damaged, []byte("n/a.md")) + len("n/a.md")
	damaged[at] ^= 0xff
	_, err = convert.Unpack(convert.File{Path: "a.zip", Data: damaged}, seen)
	require.Equal(t, fault.InvalidParameter, fault.Of(err).Code)
}

// FuzzRead covers that no file makes a panic, and that what is read has what every note needs.
func FuzzRead(f *testing.F) {
	for _, text := range []string{"", "[{}]", `{"conversations":{"a":{"mapping":{}}}}`, "a,b\n1,2\n", "---\na: 1\n---\n# x", `{"metadata":{"a":[[1]]}}`, "\ufeff"} {
		for i := range convert.Kinds() {
			f.Add(i, text)
		}
	}
	f.Fuzz(func(t *testing.T, i int, text string) {
		kinds := convert.Kinds()
		k := kinds[((i%len(kinds))+len(kinds))%len(kinds)]
		name := "f" + strings.TrimPrefix(k.FilePatterns()[0], "*")
		if k == convert.ChatGPT || k == convert.Claude {
			name = "conversations.json"
		}
		r, err := convert.Read(k, []convert.File{file(name, text)})
		if err != nil {
			require.NotNil(t, fault.Of(err).Location, "%v", err)
			return
		}
		for _, n := range r.Notes {
			require.True(t, n.Source != "" && n.SourceID != "" && strings.HasSuffix(n.Path, ".md"), "%+v", n)
		}
	})
}
