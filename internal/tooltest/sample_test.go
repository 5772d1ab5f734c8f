package tooltest_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

func TestSampleAnswers(t *testing.T) {
	for name, c := range map[string]struct{ tool, args, want string }{
		"get":    {"books_book_get", `{"vault":"main","id":"people/freya"}`, `"title":"Book people/freya"`},
		"list":   {"books_book_list", `{"vault":"main","limit":1}`, `"has_more":true`},
		"new":    {"books_book_create", `{"vault":"spare","title":"Edda"}`, `"id":"edda"`},
		"set":    {"books_book_set", `{"vault":"main","id":"people/freya","set":"pages=7"}`, `"pages":"7"`},
		"delete": {"books_book_delete", `{"vault":"main","id":"people/freya"}`, `"action":"deleted"`},
		"import": {"books_import", `{"vault":"spare","files":[{"path":"p","text":"t"}]}`, `"created":1`},
		"export": {"books_export", `{"vault":"main","limit":1}`, `"next_page_token"`},
		"create": {"desk_shelf_create", `{"name":"third"}`, `"name":"third"`},
		"whoami": {"desk_whoami", `{"agent_id":"a"}`, `"agent":"a"`},
	} {
		t.Run(name, func(t *testing.T) {
			answer, err := tooltest.Sample().Invoke(t.Context(), c.tool, json.RawMessage(c.args))
			require.NoError(t, err)
			require.Contains(t, string(answer), c.want)
		})
	}
}

func TestSampleFails(t *testing.T) {
	for how, code := range map[string]fault.Code{
		"fault": fault.InvalidField, "several": fault.ValidationFailed, "busy": fault.Unavailable,
		"limited": fault.RateLimited, "unauthenticated": fault.Unauthenticated,
		"denied": fault.PermissionDenied, "error": fault.Internal, "panic": fault.Internal,
	} {
		args, err := json.Marshal(map[string]string{"how": how})
		require.NoError(t, err)
		answer, err := tooltest.Sample().Invoke(t.Context(), "desk_fail", args)
		require.True(t, fault.Is(err, code), how)
		require.NotContains(t, string(answer), tooltest.Secret)
	}
}
