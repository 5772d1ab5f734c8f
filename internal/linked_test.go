package internal

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// unlinked are the packages that nothing which a function of a cloud reaches may import, with those below them.
// Where a template is linked, the linker keeps every exported method of every type: one program of two grows by a
// third (docs/design/0032). The others are of servers that have a disk or a terminal.
var unlinked = []string{
	"text/template", "html/template", "net/rpc", "plugin",
	"github.com/prometheus", "go.etcd.io/bbolt", "github.com/fsnotify/fsnotify", "github.com/spf13/cobra",
	"github.com/rookeryhq/rookery/internal/lambdahost",
}

// TestFunctionsLinkLittle covers all functions, and a program that composes what they serve without its stores.
func TestFunctionsLinkLittle(t *testing.T) {
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-tags", "lambda.norpc,nethttpomithttp2",
		"./hosted/testdata/function", "../functions/...")
	list.Env = append(list.Environ(), "GOOS=linux", "GOARCH=arm64", "CGO_ENABLED=0")
	out, err := list.Output()
	require.NoError(t, err)
	deps := strings.Fields(string(out))
	require.Contains(t, deps, "github.com/rookeryhq/rookery/internal/hosted")
	require.Contains(t, deps, "github.com/rookeryhq/rookery/internal/mcptool")
	require.Contains(t, deps, "github.com/rookeryhq/rookery/internal/awsapp")
	for _, embedded := range []string{"localapp", "bolttable", "fileblob", "watch", "folder", "lambdahost"} {
		require.NotContains(t, deps, "github.com/rookeryhq/rookery/internal/"+embedded)
	}
	for _, path := range deps {
		require.False(t, slices.ContainsFunc(unlinked, func(p string) bool {
			return path == p || strings.HasPrefix(path, p+"/")
		}), "a function would link %s", path)
	}
}
