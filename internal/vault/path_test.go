package vault_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/vault"
)

func TestParsePath(t *testing.T) {
	good := []string{
		"a.md", "people/freya.md", "My Folder/Some File.md", "daily/2026-03-02.md", "日本/語.md",
		"a/b/c/d.md", "Łódź.md", "console.md", "com.md", "com10.md", "a.b.md", "note!.md", "x's & y.md",
		"[draft] ^1.md", " leading.md", strings.Repeat("x", 237) + ".md", "templates/x.md", "👩‍🚀.md",
	}
	for _, s := range good {
		p, err := vault.ParsePath(s)
		require.NoError(t, err, "%q", s)
		require.Equal(t, s, string(p))
		require.Equal(t, vault.KindNote, p.Kind())
		require.Equal(t, strings.TrimSuffix(s, ".md"), p.ID())
	}
}

func TestParsePathRefuses(t *testing.T) {
	for s, rule := range map[string]string{
		"":                                 "empty",
		"a":                                "ends in .md",
		"a.txt":                            "ends in .md",
		".md":                              "dot",
		" .md":                             "name before",
		"/etc/passwd.md":                   "relative",
		"../a.md":                          "no folder ..",
		"a/../../b.md":                     "no folder ..",
		"a/./b.md":                         "no folder .",
		"a//b.md":                          "empty folder",
		"a/":                               "empty folder",
		"a/b/":                             "empty folder",
		`a\b.md`:                           "separated by /",
		`..\b.md`:                          "separated by /",
		"C:/a.md":                          "drive",
		"c:a.md":                           "drive",
		`\\host\share\a.md`:                "separated by /",
		"a\x00.md":                         "NUL",
		"a\nb.md":                          "control",
		"a\x7f.md":                         "control",
		"a\u0085.md":                       "control",
		"a\u2028b.md":                      "line breaks",
		"a\xff.md":                         "UTF-8",
		"ab:c.md":                          "characters",
		"a?.md":                            "characters",
		"a*.md":                            "characters",
		`"a".md`:                           "characters",
		"a<b>.md":                          "characters",
		"a|b.md":                           "characters",
		"C#.md":                            "section",
		"CON.md":                           "device",
		"con.md":                           "device",
		"aux.tar.md":                       "device",
		"nul .md":                          "device",
		"prn/a.md":                         "device",
		"COM1.md":                          "device",
		"lpt9.md":                          "device",
		"com¹.md":                          "device",
		"a./b.md":                          "dot or a blank",
		"a /b.md":                          "dot or a blank",
		"a.md/b.md":                        "folder does not end",
		"a.MD/b.md":                        "folder does not end",
		".hidden.md":                       "names begin with a dot",
		".obsidian/a.md":                   "names begin with a dot",
		".raven/a.md":                      "names begin with a dot",
		"x/.trash/a.md":                    "names begin with a dot",
		".rules/a.md":                      "names begin with a dot",
		"_folder.md":                       "folder's own",
		"people/_folder.md":                "folder's own",
		"schema.yaml":                      "ends in .md",
		"Cafe\u0301.md":                    "composed",
		strings.Repeat("x", 238) + ".md":   "240 bytes",
		strings.Repeat("x/", 256) + "x.md": "512 bytes",
		strings.Repeat("語", 80) + ".md":    "240 bytes",
	} {
		_, err := vault.ParsePath(s)
		require.True(t, fault.Is(err, fault.InvalidPath), "%q: %v", s, err)
		require.Contains(t, err.Error(), rule, "%q", s)
	}
}

func TestParsePathFixes(t *testing.T) {
	for s, fix := range map[string]string{
		"people/freya":  "use people/freya.md",
		`a\b.md`:        "use the path a/b.md",
		"Cafe\u0301.md": "use the path Café.md",
	} {
		_, err := vault.ParsePath(s)
		require.Equal(t, []string{fix}, fault.Of(err).Fixes, "%q", s)
	}
	require.Equal(t, "Café.md", vault.CleanPath("Cafe\u0301.md"))
}

func TestParseFile(t *testing.T) {
	for s, kind := range map[string]vault.Kind{
		"a/b.md": vault.KindNote, "schema.yaml": vault.KindSchema, "raven.yaml": vault.KindConfig,
		"rookery.yaml": vault.KindConfig, ".raven/audit.log": vault.KindAudit,
		".raven/audit.2026-10.log": vault.KindAudit,
		"_folder.md":               vault.KindFolder, "a/_folder.md": vault.KindFolder,
	} {
		p, err := vault.ParseFile(s)
		require.NoError(t, err, s)
		require.Equal(t, kind, p.Kind(), s)
	}
	for _, s := range []string{
		"", "a.txt", "x/schema.yaml", ".raven/index.db", ".raven/audit.log/x.md", "../schema.yaml",
		"raven.yml", ".raven/../schema.yaml", "x/.raven/audit.log", ".raven/audit.2026-13.log",
		".raven/audit.2026-1.log", ".raven/audit..log", ".raven/audit.2026-10.log.gz",
		".raven/audit.2026-10", "x/.raven/audit.2026-10.log", ".raven/audit.2026-10-01.log",
	} {
		_, err := vault.ParseFile(s)
		require.True(t, fault.Is(err, fault.InvalidPath), "%q: %v", s, err)
	}
}

func TestNotePath(t *testing.T) {
	for _, s := range []string{"people/freya", "people/freya.md"} {
		p, err := vault.NotePath(s)
		require.NoError(t, err)
		require.Equal(t, vault.Path("people/freya.md"), p)
		require.Equal(t, "people/", p.Dir())
	}
	_, err := vault.NotePath("../x")
	require.True(t, fault.Is(err, fault.InvalidPath))
}

func TestFold(t *testing.T) {
	for _, same := range [][]string{
		{"People/Freya.md", "people/freya.md", "PEOPLE/FREYA.MD"},
		{"Café.md", "Cafe\u0301.md", "CAFÉ.md"},
		{"straße.md", "STRASSE.md", "strasse.md"},
		{"Σίσυφος.md", "σίσυφοσ.md"},
		{"\u212bngstrom.md", "ångstrom.md"},
	} {
		for _, s := range same[1:] {
			require.Equal(t, vault.Fold(same[0]), vault.Fold(s))
		}
	}
	require.NotEqual(t, vault.Fold("cafe.md"), vault.Fold("café.md"))
}

func TestCheckName(t *testing.T) {
	for _, s := range []string{"a", "0", "demo", "my-vault-2", strings.Repeat("x", 63)} {
		require.NoError(t, vault.CheckName(s))
	}
	for _, s := range []string{
		"", "-a", "A", "a_b", "a/b", "..", "é", "a b", "a\n", strings.Repeat("x", 64), "a\x00",
	} {
		require.True(t, fault.Is(vault.CheckName(s), fault.InvalidParameter), "%q", s)
	}
	require.Equal(t, []string{"use the name my-notes"}, fault.Of(vault.CheckName("My Notes")).Fixes)
}

func TestSlug(t *testing.T) {
	for title, want := range map[string]string{
		"Freya": "freya", "Über Café": "uber-cafe", "../../evil": "evil", "///": "---",
		"internal/paths": "internal-paths", "Notes.md": "notes", "  Bob  Smith ": "bob-smith",
		"日本語": "ri-ben-yu", "": "", "...": "", "???": "", "🎉": "🎉", "CON": "con-note",
		"a.b": "a-b", "C#": "c", `x\y`: "x-y", "!": "!", " ": "-",
		strings.Repeat("x", 300): strings.Repeat("x", 237),
	} {
		require.Equal(t, want, vault.Slug(title), "%q", title)
	}
}

func TestSlugIsAPath(t *testing.T) {
	for _, title := range []string{
		"a", "///", "🎉", strings.Repeat("🎉", 100), "nul", "Com1", "é", "\x00x", "!\u2028", "-",
	} {
		_, err := vault.ParsePath(vault.Slug(title) + ".md")
		require.NoError(t, err, "%q → %q", title, vault.Slug(title))
	}
}

// TestNewPath checks that a new note cannot have a name that reorders text, while an existing one
// can.
func TestNewPath(t *testing.T) {
	for _, r := range "\u202a\u202e\u2066\u2069" {
		id := "people/a" + string(r) + "b"
		p, err := vault.NotePath(id)
		require.NoError(t, err)
		require.True(t, fault.Is(vault.CheckNew(p), fault.InvalidPath))
		require.True(t, fault.Is(vault.CheckAdded(p), fault.InvalidPath))
		_, err = vault.NewPath(id)
		require.Equal(t, []string{"use the path people/ab.md"}, fault.Of(err).Fixes)
		for _, what := range []string{"types", "traits"} {
			_, err = vault.ParseSchema([]byte(what + ":\n  a" + string(r) + "b: {}\n"))
			require.True(t, fault.Is(err, fault.SchemaError), "%s %U", what, r)
		}
	}
	for _, p := range []vault.Path{"a.MD", "b.markdown"} {
		require.True(t, fault.Is(vault.CheckNew(p), fault.InvalidPath))
		require.NoError(t, vault.CheckAdded(p))
	}
	p, err := vault.NewPath("people/مريم")
	require.NoError(t, err)
	require.Equal(t, vault.Path("people/مريم.md"), p)
}
