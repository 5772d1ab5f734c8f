package clitool_test

import (
	"cmp"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

// TestFixesAreCommandLines checks that a call in a fix is printed as a command line, for people and
// in JSON, and that this line makes exactly that call.
func TestFixesAreCommandLines(t *testing.T) {
	for _, c := range []struct{ call, line, same string }{
		{`books_book_get {"id":"people/freya"}`, `rookery book get people/freya`, ``},
		{`books_book_get {"vault":"main","id":"a b"}`, `rookery book get "a b" --vault main`, ``},
		{`books_book {"id":"x"}`, `rookery book get x`, `books_book_get {"id":"x"}`},
		{`books_book_get {"id":"--json"}`, `rookery book get --id="--json"`, ``},
		{`books_book_list {"genre":"saga","field":["pages=100"]}`, ``, ``},
		{`books_book_set {"id":"x","set":{"a":"b c","d":"$e"}}`, `rookery book set x "a=b c" 'd=$e'`,
			`books_book_set {"id":"x","set":["a=b c","d=$e"]}`},
		{`books_book_set {"id":"a=b","set":{"n":7}}`, `rookery book set --id a=b --set '{"n":7}'`, ``},
		{`books_book_set {"id":"x","set":{"n":"7"}}`, ``, ``},
		{`books_book_new {"dry_run":true,"title":"It's","fields":{"a":[1]}}`, ``, ``},
		{`books_book_new {"title":""}`, `rookery book new --title ""`, ``},
		{`desk_whoami {}`, `rookery whoami`, ``},
		{`books_import {"files":[]}`, `books_import {"files":[]}`, ``},
		{`other_tool {"id":"x"}`, `other_tool {"id":"x"}`, ``},
	} {
		t.Run(c.call, func(t *testing.T) {
			s := sample(t)
			refused := fault.New(fault.NotFound, "no").Fix("%s", c.call)
			s.fails = map[int]*fault.Fault{0: refused, 1: refused}
			code, _, errs := s.run("whoami")
			require.Equal(t, 4, code)
			_, line, _ := strings.Cut(strings.TrimSpace(errs), "try: ")
			if c.line != "" {
				require.Equal(t, c.line, line)
			}
			_, out, _ := s.run("whoami", "--json")
			var answer struct{ Error fault.Fault }
			require.NoError(t, json.Unmarshal([]byte(out), &answer))
			require.Equal(t, []string{line}, answer.Error.Fixes)
			made, ok := tooltest.CallOf(t, s.app.Tools, line)
			if ok {
				require.Equal(t, cmp.Or(c.same, c.call), made.String())
			}
		})
	}
}
