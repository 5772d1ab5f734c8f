package markdown_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/markdown"
)

const arranged = "# N\n\nintro\n\n## A\na\n### A1\n\n## B\nb\n\n## C\nc"

func TestInsertSection(t *testing.T) {
	rows := []struct {
		title string
		level int
		to    markdown.SectionPlace
		want  string
		line  int
		code  fault.Code
	}{
		{"New", 0, markdown.SectionPlace{}, arranged + "\n\n## New\n", 15, ""},
		{"New", 3, markdown.SectionPlace{}, arranged + "\n\n### New\n", 15, ""},
		{"New", 0, markdown.SectionPlace{After: "a"}, strings.Replace(arranged, "### A1\n\n", "### A1\n\n## New\n\n", 1), 9, ""},
		{"New", 2, markdown.SectionPlace{Before: "b"}, strings.Replace(arranged, "### A1\n\n", "### A1\n\n## New\n\n", 1), 9, ""},
		{"New", 0, markdown.SectionPlace{Under: "a"}, strings.Replace(arranged, "### A1\n\n", "### A1\n\n### New\n\n", 1), 9, ""},
		{"New", 0, markdown.SectionPlace{Under: "n"}, arranged + "\n\n## New\n", 15, ""},
		{"New", 3, markdown.SectionPlace{After: "a"}, "", 0, fault.InvalidValue},
		{"New", 4, markdown.SectionPlace{}, "", 0, fault.InvalidValue},
		{"New", 7, markdown.SectionPlace{}, "", 0, fault.InvalidValue},
		{"New", 1, markdown.SectionPlace{}, "", 0, fault.ValidationFailed}, // the note would lose its title
		{"A", 2, markdown.SectionPlace{Before: "a"}, "", 0, fault.ValidationFailed},
		{"A", 2, markdown.SectionPlace{}, arranged + "\n\n## A\n", 15, ""},
		{"a *b*", 2, markdown.SectionPlace{}, "", 0, fault.InvalidValue},
		{"a\n## b", 2, markdown.SectionPlace{}, "", 0, fault.InvalidValue},
		{"New", 0, markdown.SectionPlace{After: "nope"}, "", 0, fault.NotFound},
	}
	for _, row := range rows {
		out, line, err := markdown.InsertSection([]byte(arranged), row.title, row.level, row.to)
		require.Equal(t, row.code, codeOf(err), "%+v: %v", row, err)
		require.Equal(t, row.want, string(out), "%+v", row)
		require.Equal(t, row.line, line, "%+v", row)
	}
}

func TestMoveSection(t *testing.T) {
	rows := []struct {
		slug string
		to   markdown.SectionPlace
		want string
		code fault.Code
	}{
		{"a", markdown.SectionPlace{After: "b"}, "# N\n\nintro\n\n## B\nb\n\n## A\na\n### A1\n\n## C\nc", ""},
		{"c", markdown.SectionPlace{Before: "a"}, "# N\n\nintro\n\n## C\nc\n\n## A\na\n### A1\n\n## B\nb\n\n", ""},
		{"a", markdown.SectionPlace{}, "# N\n\nintro\n\n## B\nb\n\n## C\nc\n\n## A\na\n### A1\n", ""},
		{"a1", markdown.SectionPlace{Under: "b"}, "# N\n\nintro\n\n## A\na\n\n## B\nb\n\n### A1\n\n## C\nc", ""},
		{"a1", markdown.SectionPlace{After: "b"}, "", fault.InvalidValue},
		{"a", markdown.SectionPlace{Under: "a1"}, "", fault.InvalidValue},
		{"a", markdown.SectionPlace{After: "a"}, "", fault.InvalidValue},
		{"n", markdown.SectionPlace{After: "a"}, "", fault.InvalidValue},
		{"a", markdown.SectionPlace{After: "x"}, "", fault.NotFound},
	}
	for _, row := range rows {
		out, _, err := markdown.MoveSection([]byte(arranged), row.slug, row.to)
		require.Equal(t, row.code, codeOf(err), "%+v: %v", row, err)
		require.Equal(t, row.want, string(out), "%+v", row)
	}
}

func TestRenameSection(t *testing.T) {
	rename := func(text, slug, title string) (string, string, fault.Code) {
		out, h, err := markdown.RenameSection([]byte(text), slug, title)
		return string(out), h.Slug, codeOf(err)
	}
	out, slug, code := rename(arranged, "a", "New name")
	require.Equal(t, []any{strings.Replace(arranged, "## A\n", "## New name\n", 1), "new-name", fault.Code("")}, []any{out, slug, code})
	out, _, _ = rename("A *b*\n---\nx\n", "a-b", "C")
	require.Equal(t, "C\n---\nx\n", out)
	out, _, _ = rename("##  A  ##\r\nx\r\n", "a", "C")
	require.Equal(t, "##  C  ##\r\nx\r\n", out)
	out, slug, _ = rename("## A\n::meeting(id=m)\n", "m", "C")
	require.Equal(t, []string{"## C\n::meeting(id=m)\n", "m"}, []string{out, slug})
	for _, bad := range []string{"a *b*", "a\nb", "", "#"} {
		_, _, code = rename(arranged, "a", bad)
		require.Equal(t, fault.InvalidValue, code, bad)
	}
	_, _, code = rename("## A\n## A\n", "a", "B")
	require.Equal(t, fault.ValidationFailed, code, "a-2 would be a")
	_, _, code = rename("- # A\n", "a", "B")
	require.Equal(t, fault.InvalidValue, code)
}

// TestArrangeKeepsSections says of random notes that a section that is inserted or moved changes no other
// section: neither its slug nor a line of its text.
func TestArrangeKeepsSections(t *testing.T) {
	line := rapid.SampledFrom([]string{
		"# T", "## A", "## B", "### C", "### A", "#### D", "text", "", "- item", "> # quoted", "```", "Set\n---", "1. x", "x  ",
	})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(line, 1, 14).Draw(t, "lines"), rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "eol"))
		d := markdown.Parse([]byte(text))
		slugs := []string{""}
		for _, h := range d.Headings {
			slugs = append(slugs, h.Slug)
		}
		slug := rapid.SampledFrom(slugs)
		to := markdown.SectionPlace{}
		switch rapid.IntRange(0, 3).Draw(t, "place") {
		case 0:
			to.After = slug.Draw(t, "after")
		case 1:
			to.Before = slug.Draw(t, "before")
		case 2:
			to.Under = slug.Draw(t, "under")
		}
		out, _, err := markdown.MoveSection([]byte(text), slug.Draw(t, "moved"), to)
		if err == nil {
			require.Equal(t, ownTexts(d, text), ownTexts(markdown.Parse(out), string(out)), "%q\n%q", text, out)
		}
		out, _, err = markdown.InsertSection([]byte(text), "New", 0, to)
		if err == nil {
			was, is := ownTexts(d, text), ownTexts(markdown.Parse(out), string(out))
			delete(is, "new")
			require.Equal(t, was, is, "%q\n%q", text, out)
		}
	})
}

// ownTexts returns the lines of each section of a note that are not blank, by its slug.
func ownTexts(d *markdown.Doc, text string) map[string]string {
	all := map[string]string{}
	for _, h := range d.Headings {
		for line := range strings.Lines(text[h.Own.Start:h.Own.End]) {
			if trimmed := strings.TrimRight(line, " \r\n"); trimmed != "" {
				all[h.Slug] += trimmed + "\n"
			}
		}
	}
	return all
}

// codeOf returns the code of a fault, empty for none.
func codeOf(err error) fault.Code {
	if err == nil {
		return ""
	}
	return fault.Of(err).Code
}
