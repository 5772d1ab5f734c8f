package vault_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/vault"
)

func FuzzParseConfig(f *testing.F) {
	f.Add("daily_directory: x\nexclude: ['*.tmp']\nprotected_prefixes: [a/]\n", "timezone: Europe/Vienna\n")
	f.Add("deletion: {behavior: trash, trash_dir: .t}\ncapture: {destination: daily}\n", "week_start: sunday\n")
	f.Add("queries: {q: {query: 'type:a', args: [b]}}\n", "language: de-AT\n")
	f.Add("a: [\n", "timezone: [x]\n")
	f.Fuzz(func(t *testing.T, raven, rookery string) {
		c, err := vault.ParseConfig([]byte(raven), []byte(rookery))
		require.True(t, err == nil || fault.Is(err, fault.SchemaError), "%v", err)
		require.NotNil(t, c.Zone, "what cannot be used has its default")
		require.Contains(t, vault.Languages(), c.Language)
		day := vault.Date("2026-03-02")
		path := c.DailyPath(day)
		_, err = vault.ParsePath(string(path))
		require.NoError(t, err, "a daily note can always be made")
		got, ok := c.IsDaily(path)
		require.True(t, ok)
		require.Equal(t, day, got)
	})
}
