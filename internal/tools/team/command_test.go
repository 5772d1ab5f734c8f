package team_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/tooltest"
)

// TestCommandLines holds that the tools are called from the command line as the guide shows it: also with
// a flag of a setting that has the name of one that all commands have.
func TestCommandLines(t *testing.T) {
	p := open(t, publicURL)
	shell := tooltest.Shell{
		Tools: p.catalogue.Tools(), Connect: tooltest.InProcess(p.catalogue, admin()),
	}
	for _, c := range []struct{ line, want string }{
		{`vault create notes`, `{"action":"created"}`},
		{`vault set notes --vault-readonly`, `{"action":"updated","vault":{"readonly":true}}`},
		{`vault set notes --vault-readonly=false --secrets refuse`,
			`{"vault":{"readonly":false,"secrets":"refuse"}}`},
		{`token create ci --role editor --vaults notes,archive=reader --prefix ci/ --expires-in "90 days" --token-readonly --tools team_whoami`,
			`{"roles":{"notes":"editor","archive":"reader"},"prefix":"ci/","readonly":true,
			"expires_at":"2027-02-19T09:00:00Z","tools":["team_whoami"]}`},
		{`token list --all`, `{"items":[{"name":"ci"}]}`},
		{`member set alice --role editor --vaults notes`, `{"member":{"roles":{"notes":"editor"}}}`},
		{`member list`, `{"items":[{"subject":"alice"}]}`},
		{`member remove alice --dry-run`, `{"would_delete":{"subject":"alice"}}`},
		{`issuer set github --issuer https://token.actions.githubusercontent.com --claims repository=acme/app --claims ref=refs/heads/main --role editor`,
			`{"issuer":{"claims":{"repository":"acme/app","ref":"refs/heads/main"}}}`},
		{`issuer list`, `{"items":[{"name":"github"}]}`},
		{`issuer remove github`, `{"action":"removed"}`},
		{`usage`, `{"vaults":1}`},
		{`whoami`, `{"name":"ada"}`},
		{`complete access tool team_token_c`, `{"items":["team_token_create"]}`},
	} {
		words := append(tooltest.Words(c.line), "--json")
		printed := shell.Run(t, words...)
		require.Zero(t, printed.Exit, "%s: %s%s", c.line, printed.Out, printed.Err)
		var a answer
		require.NoError(t, json.Unmarshal([]byte(printed.Out), &a))
		require.Empty(t, tooltest.Missing(json.RawMessage(c.want), a.Data), "%s: %s", c.line, printed.Out)
	}
}
