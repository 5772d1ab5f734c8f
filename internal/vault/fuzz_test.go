package vault_test

import (
	"path"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/vault"
)

func FuzzParsePath(f *testing.F) {
	for _, s := range []string{"a.md", "../a.md", "a\\b.md", "CON.md", "é/\x00.md", "a//b.md", ".x.md"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := vault.ParsePath(s)
		if err != nil {
			require.True(t, fault.Is(err, fault.InvalidPath), "%q: %v", s, err)
			return
		}
		require.Equal(t, s, path.Clean(s))
		require.Equal(t, s, vault.CleanPath(s))
		require.True(t, utf8.ValidString(s) && strings.HasSuffix(s, ".md") && len(s) <= 512)
		require.NotContains(t, s, "..\x2f")
		require.False(t, strings.HasPrefix(s, "/") || strings.HasPrefix(s, "."))
		again, err := vault.NotePath(s)
		require.NoError(t, err)
		require.Equal(t, p, again)
		if !strings.HasSuffix(p.ID(), ".md") { // of a.md.md only the path identifies the note
			again, err = vault.NotePath(p.ID())
			require.NoError(t, err)
			require.Equal(t, p, again)
		}
		require.Equal(t, vault.Fold(s), vault.Fold(vault.Fold(s)))
	})
}

func FuzzSlug(f *testing.F) {
	for _, s := range []string{"Über Café", "../../evil", "///", "🎉", "CON", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, title string) {
		if s := vault.Slug(title); s != "" {
			_, err := vault.ParsePath("notes/" + s + ".md")
			require.NoError(t, err, "%q → %q", title, s)
		}
	})
}

func FuzzParseSchema(f *testing.F) {
	f.Add(schema)
	f.Add("types: {a: {fields: {x: {default: &a [*a]}}}}")
	f.Add("queries: {a: b}\ndaily_directory: x\ntimezone: UTC\n")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := vault.ParseSchema([]byte(text))
		if err != nil {
			require.True(t, fault.Is(err, fault.SchemaError))
		} else {
			for _, typ := range s.Types {
				typ.CheckObject(map[string]any{"x": vault.Text(text), "tags": text}, clock)
			}
		}
		_, err = vault.ParseConfig([]byte(text), []byte(text))
		require.True(t, err == nil || fault.Is(err, fault.SchemaError))
	})
}

func FuzzParseTime(f *testing.F) {
	for _, s := range []string{"today", "3 days ago", "2026-03-29", "this-week", "9999-12-31"} {
		f.Add(s, int64(1772409600), "Europe/Vienna")
	}
	f.Fuzz(func(t *testing.T, s string, now int64, name string) {
		where, err := time.LoadLocation(name)
		if err != nil || now < -60e9 || now > 250e9 {
			return
		}
		i, err := vault.ParseTime(s, vault.Clock{Now: time.Unix(now, 0), Zone: where})
		if err == nil && !i.From.IsZero() && !i.To.IsZero() {
			require.False(t, i.To.Before(i.From), "%q: %v", s, i)
		}
	})
}
