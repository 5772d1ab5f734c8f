package auth_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
)

// TestCheckName checks which names are refused because they could be mistaken for others.
func TestCheckName(t *testing.T) {
	for _, name := range []string{
		"a", "planner-2", "CI build #7", "Freya Møller", "Žofia", "élan", "Иван", "Ωμέγα", "محمد", "नमस्ते",
		"山田たろう", "カタカナ漢字", "김漢字", "Иван (build)", "Omega Ωμέγα", "build/Иван", "v1.2_x", "🤖 robin",
		"user@host", "naïve", "Ångström", "l33t", "Иван7", strings.Repeat("x", 128),
	} {
		require.NoError(t, auth.CheckName(name), name)
	}
	for name, fix := range map[string]string{
		"": "", " a": "", "a ": "", "a\nb": "", "a\x1bb": "", "a\u202eb": "", "a\u200bb": "", "a\u00adb": "",
		"pаypal": "", "plаnner": "", "αdmin": "", "Aдmin": "", "аdmin ok": "", "ok рlanner": "",
		"ａｄｍｉｎ": `"admin"`, "ﬁx": `"fix"`, "e\u0301lan": `"élan"`, "①": `"1"`, "a\u00a0b": "", "ℌ": `"H"`,
		"ひらがなкана": "", "a漢": "",
	} {
		err := auth.CheckName(name)
		require.True(t, fault.Is(err, fault.InvalidParameter), "%q", name)
		if fix != "" {
			require.Equal(t, []string{"use the name " + fix}, fault.Of(err).Fixes, name)
		}
	}
}
