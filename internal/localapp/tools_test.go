package localapp_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/localapp"
	"github.com/rookeryhq/rookery/internal/tool"
)

// maxToolAllocs is the maximum average number of allocations for creating a tool. A function in the
// cloud creates all tools of the product before its first request (docs/design/0032).
const maxToolAllocs = 60

// TestToolsAllocateLittle checks that tools are created without their schemas, which are built when
// they are first needed.
func TestToolsAllocateLittle(t *testing.T) {
	var tools []*tool.Tool
	n := testing.AllocsPerRun(5, func() { tools = localapp.Tools(nil) })
	require.LessOrEqual(t, int(n)/len(tools), maxToolAllocs, "%v allocations for %d tools", n, len(tools))
}

// TestEverySchemaIsMade checks that every argument and every answer has a schema. Schemas are built
// when they are first needed, so a type without one is not found at the start.
func TestEverySchemaIsMade(t *testing.T) {
	for _, made := range localapp.Tools(nil) {
		require.NotNil(t, made.OutputSchema(), made.Name)
		for _, a := range made.Args {
			require.NotNil(t, a.Schema(), "%s %s", made.Name, a.Name)
			require.Same(t, a.Schema(), a.Schema())
		}
		for _, n := range made.Nested {
			_, ok := made.Member(n.Path)
			require.True(t, ok, "--%s of %s is for %s", n.Name, made.Name, n.Path)
		}
	}
}

// BenchmarkTools measures the creation of all tools.
func BenchmarkTools(b *testing.B) {
	for b.Loop() {
		localapp.Tools(nil)
	}
}
