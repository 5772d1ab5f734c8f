package markdown_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/markdown"
)

// FuzzSetBody holds that a new body and an addition leave the frontmatter to the byte, with whatever it has, and
// that neither becomes part of it.
func FuzzSetBody(f *testing.F) {
	for _, s := range seeds {
		f.Add(s, "# New\ntext")
	}
	for _, head := range []string{
		"", "\ufeff", "---\r\na: 1 # c\r\n---\r\n", "---\na: [\n---\n", "---\na: 1\n---", "\ufeff--- \na: {b: 1}\n--- \n",
	} {
		for _, body := range []string{"", "x", "---\na: 1\n---\n", "\n\r\n", "\r", "---"} {
			f.Add(head+"old", body)
			f.Add(head, body)
		}
	}
	f.Fuzz(func(t *testing.T, text, body string) {
		_, at := markdown.ReadHead([]byte(text))
		require.Equal(t, at, markdown.BodyStart([]byte(text)))
		head := text[:at]
		out := markdown.SetBody([]byte(text), body)
		require.True(t, bytes.HasPrefix(out, []byte(head)))
		_, now := markdown.ReadHead(out)
		require.Equal(t, head, strings.TrimRight(string(out[:now]), "\r\n")+head[len(strings.TrimRight(head, "\r\n")):])
		require.True(t, body == "" || bytes.HasSuffix(out, []byte("\n")))
		again := markdown.SetBody(out, string(out[now:]))
		require.Equal(t, string(out), string(again), "what was read can be written again")

		more := markdown.AddBytes([]byte(text), body)
		require.True(t, bytes.HasPrefix(more, []byte(text)) && bytes.HasSuffix(more, []byte(body)))
		require.LessOrEqual(t, len(more), len(text)+len(body)+2)
		if at > len("\ufeff") {
			_, now := markdown.ReadHead(more)
			require.Equal(t, strings.TrimSpace(head), strings.TrimSpace(string(more[:now])))
		}
	})
}

// TestHTMLIsBounded holds that a note of many marks, or of many containers, is rendered, and that nothing in it
// becomes HTML that runs.
func TestHTMLIsBounded(t *testing.T) {
	for _, text := range []string{
		strings.Repeat("[", 1<<19), strings.Repeat("*a ", 1<<18), strings.Repeat("> ", 1<<17), strings.Repeat("`a", 1<<18),
		strings.Repeat("<a", 1<<18), strings.Repeat("- ", 1<<17), strings.Repeat("[a]: b\n", 1<<15), strings.Repeat("_x*", 1<<17),
		strings.Repeat("![a](b) *c*\n", 1<<15), strings.Repeat("![a](b) *c*\n\n", 1<<15),
	} {
		out, err := markdown.HTML([]byte(text))
		require.NoError(t, err)
		require.NotEmpty(t, out)
	}
	for _, text := range []string{
		"<script>x</script>", "<img onerror=x>", "[a](javascript:x)", "![a](javascript:x)", "<javascript:x>",
		"[a](data:text/html,x)", "a <b onclick=x>", "```\n<script>\n```", strings.Repeat("<script>", 300),
	} {
		out, err := markdown.HTML([]byte(text))
		require.NoError(t, err)
		for _, never := range []string{"<script", "<img onerror", `"javascript:`, `"data:`, "<b onclick"} {
			require.NotContains(t, string(out), never, text)
		}
	}
}
