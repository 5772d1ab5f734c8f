package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCloudRefusals checks the errors of commands about a stack that precede the first call to AWS.
// infra.TestDeployed checks the rest, on a stack of LocalStack.
func TestCloudRefusals(t *testing.T) {
	for _, name := range []string{"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_CONFIG_FILE", "/dev/null")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
	for _, c := range []struct {
		line []string
		code int
		says string
	}{
		{[]string{"dead-letters", "list"}, 2, "--stack must be the name of a stack"},
		{[]string{"dead-letters", "redrive"}, 2, "--stack must be the name of a stack"},
		{[]string{"dead-letters", "list", "--stack", "s"}, 2, "no region of AWS is set"},
		{[]string{"dead-letters", "list", "--stack", "s", "--profile", "none"}, 2, "--profile NAME"},
		{[]string{"dead-letters", "drop", "--stack", "s"}, 1, ""},
		{[]string{"rollback", "--stack", "s"}, 2, "--from must be the name of a table"},
		{[]string{"rollback", "--from", "t"}, 2, "--stack must be the name of a stack"},
		{[]string{"doctor", "--cloud", "--stack", "s"}, 2, "no region of AWS is set"},
	} {
		code, out, errs := rookery(t, c.line...)
		require.Equal(t, c.code, code, "%v: %s%s", c.line, out, errs)
		require.Contains(t, errs, c.says, c.line)
	}
}
