package markdown_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/markdown"
)

func TestTasks(t *testing.T) {
	for text, want := range map[string]string{
		"- [ ] Call":                    " ",
		"* [x] Call":                    "x",
		"+ [X] Call":                    "X",
		"1. [/] Call":                   "/",
		"> - [-] In a quote":            "-",
		"- a\n  - [?] Below":            "?",
		"- [語] Any mark":                "語",
		"- [ ] @due(2026-12-01) Traits": " ",
		"- [ ] Two\n- [x] items":        " x",
		"- [ ]":                         "",
		"- [ ] ":                        "",
		"- [] No mark":                  "",
		"- [xx] Two marks":              "",
		"- [x](http://a.b) A link":      "",
		"- [[x]] A reference":           "",
		"[ ] A paragraph":               "",
		"- text [ ] behind it":          "",
		"- first\n  [ ] Next line":      "",
		"- [x]Close":                    "",
		"```\n- [ ] Code\n```":          "",
		"- # [ ] A heading":             "",
		"---\ntodo: \"- [ ] x\"\n---\n": "",
		"- [ ] A\r\n- [x] B\r\n":        " x",
	} {
		marks := ""
		for _, task := range markdown.Parse([]byte(text)).Tasks {
			marks += task.Mark
			require.Equal(t, task.Mark, text[task.Span.Start:task.Span.End], "%q", text)
		}
		require.Equal(t, want, marks, "%q", text)
	}
	d := markdown.Parse([]byte("# T\n\n## Plan\n\n- [ ] **Call** [[freya]] @due(2026-12-01) @id(a)\n"))
	require.Len(t, d.Tasks, 1)
	got := d.Tasks[0]
	require.Equal(t, []any{5, "[ ] Call [[freya]]", "a", "plan"},
		[]any{got.Line, got.ContentText, got.Pin, d.Headings[got.Scope].Slug})
}

func TestTaskFields(t *testing.T) {
	type f = markdown.TaskFields
	for text, want := range map[string]f{
		"Pay 📅 2026-12-01":                                     {Due: "2026-12-01"},
		"Pay 📅\ufe0f2026-12-01":                                {Due: "2026-12-01"},
		"Pay ⏳ 2026-12-01 🛫 2026-11-30 ✅ 2026-12-02":           {"", "2026-12-01", "2026-11-30", "2026-12-02", false},
		"Pay 📅 2026-12-01 🔁 every week":                        {Due: "2026-12-01", Recurs: true},
		"Pay [due:: 2026-12-01]":                               {Due: "2026-12-01"},
		"Pay (scheduled:: 2026-12-01) [start::2026-11-01]":     {"", "2026-12-01", "2026-11-01", "", false},
		"Pay [completion:: 2026-12-01] [repeat:: every month]": {DoneOn: "2026-12-01", Recurs: true},
		"Pay 📅 2026-02-30":                                     {},
		"Pay 📅 tomorrow":                                       {},
		"Pay due:: 2026-12-01":                                 {},
		"Pay":                                                  {},
	} {
		require.Equal(t, want, markdown.ReadTaskFields(text), "%q", text)
	}
	require.Equal(t, "Pay 📅 2026-12-01", markdown.TaskText("[x] Pay 📅 2026-12-01 ✅ 2026-12-02"))
}

func TestSetTask(t *testing.T) {
	const today = "2026-12-05"
	for _, c := range []struct{ text, mark, want string }{
		{"- [ ] Call", "x", "- [x] Call"},
		{"- [x] Call", " ", "- [ ] Call"},
		{"- [X] Call", "x", "- [X] Call"},
		{"- [ ] Pay 📅 2026-12-01", "x", "- [x] Pay 📅 2026-12-01 ✅ 2026-12-05"},
		{"- [ ] Pay 📅 2026-12-01 ^pay", "x", "- [x] Pay 📅 2026-12-01 ✅ 2026-12-05 ^pay"},
		{"- [x] Pay 📅 2026-12-01 ✅ 2026-12-05 ^pay\r\n", " ", "- [ ] Pay 📅 2026-12-01 ^pay\r\n"},
		{"- [ ] Pay [due:: 2026-12-01]", "x", "- [x] Pay [due:: 2026-12-01] [completion:: 2026-12-05]"},
		{"- [x] Pay [due:: 2026-12-01] [completion:: 2026-12-05]", " ", "- [ ] Pay [due:: 2026-12-01]"},
		{"- [ ] Pay 📅 2026-12-01", "/", "- [/] Pay 📅 2026-12-01"},
		{"> 1. [-] **Pay**\n> 2. [ ] rest", "x", "> 1. [x] **Pay**\n> 2. [ ] rest"},
	} {
		task := markdown.Parse([]byte(c.text)).Tasks[0]
		got, err := markdown.SetTask([]byte(c.text), task, c.mark, today)
		require.NoError(t, err, c.text)
		require.Equal(t, c.want, string(got))
	}
	for text, mark := range map[string]string{
		"- [ ] Pay 🔁 every week 📅 2026-12-01": "x", "- [ ] a": "xx", "- [ ] b": "]", "- [ ] c": "",
	} {
		task := markdown.Parse([]byte(text)).Tasks[0]
		_, err := markdown.SetTask([]byte(text), task, mark, today)
		require.True(t, fault.Is(err, fault.InvalidValue), "%q: %v", text, err)
	}
	_, err := markdown.SetTask([]byte("text"), markdown.Task{}, "x", today)
	require.True(t, fault.Is(err, fault.NotFound))
}

// TestTasksRoundTrip holds that a task which is done and then is not is what it was, whatever is around it, and that no
// other line changes.
func TestTasksRoundTrip(t *testing.T) {
	lines := []string{
		"- [ ] Call", "- [ ] Pay 📅 2026-12-01", "  - [ ] Deep [due:: 2026-12-01] ^b", "> - [ ] Quote", "text", "",
		"## Heading", "1. [ ] One @due(2026-12-01)", "- [x] Done ✅ 2026-01-01", "```", "- plain", "* [/] Half",
	}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(lines), 1, 12).Draw(t, "lines"),
			rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "break"))
		for i, task := range markdown.Parse([]byte(text)).Tasks {
			if task.Done() || task.Mark == "/" {
				continue
			}
			done, err := markdown.SetTask([]byte(text), task, "x", "2026-12-05")
			require.NoError(t, err)
			after := markdown.Parse(done).Tasks[i]
			require.True(t, after.Done())
			require.Equal(t, markdown.TaskText(task.ContentText), markdown.TaskText(after.ContentText))
			back, err := markdown.SetTask(done, after, " ", "2026-12-05")
			require.NoError(t, err)
			require.Equal(t, text, string(back))
		}
	})
}

func TestAnnotateTask(t *testing.T) {
	text := []byte("- [ ] (maybe) Call\n- [ ] Next\n")
	task := markdown.Parse(text).Tasks[0]
	got, err := markdown.AnnotateTask(text, task, markdown.Field{Key: "due", Value: "2026-12-01"})
	require.NoError(t, err)
	require.Equal(t, "- [ ] @due(2026-12-01) (maybe) Call\n- [ ] Next\n", string(got))
	got, err = markdown.AnnotateTask(text, task, markdown.Field{Key: "urgent", Value: true})
	require.NoError(t, err)
	require.Equal(t, "- [ ] @urgent() (maybe) Call\n- [ ] Next\n", string(got))
	_, err = markdown.AnnotateTask(text, task, markdown.Field{Key: "a b", Value: nil})
	require.True(t, fault.Is(err, fault.InvalidTrait))
}
