package internal

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCloudTable requires that tools/test/cloud.txt has a line for each package with a test that needs the emulators
// of AWS, and no other.
func TestCloudTable(t *testing.T) {
	var need []string
	for _, s := range sources(t) {
		uses := slices.Contains(s.imports, "github.com/rookeryhq/rookery/internal/awstest") || s.folder == "internal/awstest" ||
			slices.Contains(s.imports, "github.com/rookeryhq/rookery/internal/cloudtest")
		if uses && strings.HasSuffix(s.file, "_test.go") && !slices.Contains(need, s.folder) {
			need = append(need, s.folder)
		}
	}
	data, err := os.ReadFile("../tools/test/cloud.txt")
	require.NoError(t, err)
	var listed []string
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		words := strings.Fields(line)
		require.GreaterOrEqual(t, len(words), 2, line)
		require.Contains(t, []string{"race", "plain"}, words[0], line)
		listed = append(listed, strings.TrimPrefix(words[1], ownModule+"/"))
	}
	require.ElementsMatch(t, need, listed)
}
