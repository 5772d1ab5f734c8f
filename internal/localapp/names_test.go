package localapp_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	odd "github.com/rookeryhq/rookery/internal/control"
	"github.com/rookeryhq/rookery/internal/fault"
)

// TestNamesReorderNothing checks that no tool creates a thing whose name has a control character,
// or a character that reorders text, and that a note which has such a name can be read, changed and
// deleted like any other.
func TestNamesReorderNothing(t *testing.T) {
	app, _ := openVault(t)
	defer func() { require.NoError(t, app.Close()) }()
	i := local{app}
	put(t, i, map[string]string{"inbox.md": "# Inbox\n"})
	for _, r := range "\x1b\x7f\u009b\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069" {
		name, code := "a"+string(r)+"b", fault.InvalidPath
		f := refused(t, code, i, "raven_new", args{"type": "page", "title": "x", "path": name})
		require.NotContains(t, f.Message+strings.Join(f.Fixes, ""), string(r))
		refused(t, code, i, "raven_upsert", args{"type": "page", "title": "x", "path": name, "content": "x"})
		refused(t, fault.InvalidPath, i, "team_vault_import",
			args{"notes": listOf(map[string]string{name + ".md": "x"})})
		refused(t, fault.InvalidField, i, "raven_set", args{"id": "inbox", "set": args{name: "x"}})
		refused(t, fault.InvalidParameter, i, "team_vault_create", args{"name": name})
		refused(t, fault.InvalidParameter, i, "team_token_create", args{"name": name, "role": "reader"})
		refused(t, fault.InvalidParameter, i, "team_member_set", args{"subject": name, "role": "reader"})
		refused(t, fault.InvalidParameter, i, "raven_stats", args{"agent_id": name})
		refused(t, fault.InvalidParameter, i, "raven_stats", args{"session": name})
		a := must(t, i, "raven_new", args{"type": "page", "title": fmt.Sprintf("t%x%s", r, name)})
		require.False(t, odd.Has(into[struct{ Object struct{ ID string } }](t, a).Object.ID))
	}
}

// TestNotesWithOddNames checks that a note whose name reorders text, created by an earlier release
// or by an editor, can be read, changed and deleted like any other.
func TestNotesWithOddNames(t *testing.T) {
	const odd = "a\u202eb"
	p := newPerson(t, map[string]string{odd + ".md": "# Old\n"})
	app := p.open("v")
	defer p.close(app)
	i := local{app}
	require.Equal(t, "# Old\n", read(t, i, odd))
	must(t, i, "raven_add", args{"text": "line", "to": odd})
	must(t, i, "raven_set", args{"id": odd, "set": args{"status": "done"}})
	require.Contains(t, read(t, i, odd), "line")
	must(t, i, "raven_delete", args{"id": odd})
	refused(t, fault.InvalidPath, i, "raven_new", args{"type": "page", "title": "x", "path": odd})
}
