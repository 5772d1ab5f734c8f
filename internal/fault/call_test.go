package fault_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
)

// TestTry checks that a fix that is a call survives encoding, and that a client can parse it.
func TestTry(t *testing.T) {
	f := fault.New(fault.NotFound, "no").Fix("look around").Try("raven_read",
		fault.Args{"path": "a<b&\"c\" {x}\n☃", "lines": true, "vault": "", "limit": 3, "as_of": nil})
	require.Equal(t, []string{"look around",
		`raven_read {"limit":3,"lines":true,"path":"a<b&\"c\" {x}\n☃"}`}, f.Fixes)
	data, err := json.Marshal(f)
	require.NoError(t, err)
	var back fault.Fault
	require.NoError(t, json.Unmarshal(data, &back))
	require.Equal(t, f.Fixes, back.Fixes)
	_, isCall := fault.ParseCall(back.Fixes[0])
	require.False(t, isCall)
	c, isCall := fault.ParseCall(back.Fixes[1])
	require.True(t, isCall)
	require.Equal(t, "raven_read", c.Tool)
	require.Equal(t, back.Fixes[1], c.String())
	path, ok := c.Arg("path")
	require.True(t, ok)
	require.Equal(t, `"a<b&\"c\" {x}\n☃"`, string(path))
	_, ok = c.Arg("vault")
	require.False(t, ok, "an empty text is left out")
}

// TestAdviceIsNoCall checks texts that look like calls but are not.
func TestAdviceIsNoCall(t *testing.T) {
	for _, text := range []string{
		"", "raven_read", "raven_read {", `raven_read {"a":}`, `raven_read {"a":1} now`, `use {"a":1}.`,
		`send an object: {"name": "value"}`, `Read {"a":1}`, `{"a":1}`, `x ["a"]`, "a_b {}\n{}",
		`a_b {"a":1}}`, `a_b {"a":1}{"b":2}`,
	} {
		_, ok := fault.ParseCall(text)
		require.False(t, ok, "%q", text)
	}
	c, ok := fault.ParseCall("team_vault_list {}")
	require.True(t, ok)
	require.Equal(t, fault.Call{Tool: "team_vault_list"}, c)
}
