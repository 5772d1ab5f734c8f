package httptool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/httptool"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

func TestFailures(t *testing.T) {
	s := serve(t, httptool.Options{})
	for how, c := range map[string]struct {
		status int
		code   fault.Code
		wait   string
	}{
		"fault":           {400, fault.InvalidField, ""},
		"several":         {400, fault.ValidationFailed, ""},
		"busy":            {503, fault.Unavailable, "1"},
		"limited":         {429, fault.RateLimited, "2"},
		"unauthenticated": {401, fault.Unauthenticated, ""},
		"denied":          {403, fault.PermissionDenied, ""},
		"error":           {500, fault.Internal, ""},
		"panic":           {500, fault.Internal, ""},
	} {
		t.Run(how, func(t *testing.T) {
			g := send(t, s, ask{line: "POST /v1/fail", body: fmt.Sprintf(`{"how":%q}`, how)})
			require.Equal(t, c.status, g.status)
			require.Equal(t, c.wait, g.header.Get("Retry-After"))
			require.Equal(t, c.status == 401, g.header.Get("WWW-Authenticate") != "")
			f := g.envelope(t).Error
			require.Equal(t, c.code, f.Code)
			require.Equal(t, g.header.Get("X-Request-Id"), f.RequestID)
			require.NotContains(t, g.body, tooltest.Secret)

			bare := send(t, s, ask{line: "POST /v1/fail?envelope=false", body: fmt.Sprintf(`{"how":%q}`, how)})
			require.Equal(t, c.status, bare.status)
			var alone fault.Fault
			require.NoError(t, json.Unmarshal([]byte(bare.body), &alone))
			require.Equal(t, c.code, alone.Code)
		})
	}
}

func TestBare(t *testing.T) {
	s := serve(t, httptool.Options{})
	for _, a := range []ask{
		{line: "GET /v1/vaults/main/books/people%2Ffreya?envelope=false"},
		{line: "POST /v1/tools/books_book_get", body: `{"vault":"main","id":"people/freya","envelope":false}`},
	} {
		g := send(t, s, a)
		require.Equal(t, 200, g.status, g.body)
		require.JSONEq(t, `{"object":{"id":"people/freya","title":"Book people/freya","fields":{"genre":"atlas","pages":1}}}`, g.body)
		require.Equal(t, `"v4"`, g.header.Get("ETag"))
		require.Empty(t, g.header.Get("X-Warnings"))
	}
	g := send(t, s, ask{line: "GET /v1/vaults/spare/books?envelope=false"})
	require.JSONEq(t, `{"items":[]}`, g.body)
	require.JSONEq(t, `[{"code":"NO_RESULTS","message":"no book matches","genre":""}]`, g.header.Get("X-Warnings"))
}

// TestWarningsHeader checks that the header is ASCII and limited in size, whatever the warnings
// contain.
func TestWarningsHeader(t *testing.T) {
	type out struct {
		tool.Aside `json:"-"`
	}
	cat, err := tool.NewCatalogue([]*tool.Tool{tool.New(tool.Spec{
		Name: "warn", Title: "Warn", Doc: "Warns.", Role: auth.Reader,
		Family: &tool.Family{Name: "f", Base: "/v1"}, Route: tool.Route{Method: "GET", Path: "/warn"},
	}, func(context.Context, auth.Caller, struct{}) (o out, err error) {
		for i := range 90 {
			o.Warn("ODD", fmt.Sprintf("%d: é 😀\r\n\x7f %s", i, strings.Repeat("x", 100)), nil)
		}
		return o, nil
	})}, tool.Options{})
	require.NoError(t, err)

	text := serveAndSend(t, cat, ask{line: "GET /v1/warn?envelope=false"}).header.Get("X-Warnings")
	require.Less(t, len(text), 5000)
	for _, c := range []byte(text) {
		require.True(t, c >= ' ' && c < 0x7F, "%q", c)
	}
	var warnings []tool.Warning
	require.NoError(t, json.Unmarshal([]byte(text), &warnings))
	require.True(t, strings.HasPrefix(warnings[0].Message, "0: é 😀\r\n\x7f x"), warnings[0].Message)
	last := warnings[len(warnings)-1]
	require.Equal(t, "WARNINGS_TRUNCATED", last.Code)
	require.Equal(t, 90.0, last.Fields["total"])
}
