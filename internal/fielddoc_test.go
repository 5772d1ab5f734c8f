package internal

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write internal/tool/fielddocs.txt")

// described are the packages outside internal/tools with types of the tools' inputs and outputs.
var described = []string{
	"internal/audit", "internal/job", "internal/memory", "internal/search", "internal/tool",
	"internal/tree", "internal/vault",
}

// TestFieldDocs checks that internal/tool/fielddocs.txt contains the comments of the fields of the
// tools' inputs and outputs (docs/design/0105-field-descriptions.md). With -update it writes the file.
func TestFieldDocs(t *testing.T) {
	docs := map[string]string{}
	for _, s := range sources(t) {
		ours := strings.HasPrefix(s.folder, "internal/tools/") || slices.Contains(described, s.folder)
		if ours && !strings.HasSuffix(s.file, "_test.go") {
			addFieldDocs(t, docs, s)
		}
	}
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(docs)) {
		fmt.Fprintf(&text, "%s\t%s\n", name, docs[name])
	}
	const file = "tool/fielddocs.txt"
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(text.String()), 0o644))
	}
	has, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, text.String(), string(has), "%s is out of date: make docs", file)
}

// addFieldDocs adds the comments of all fields with a name in JSON in a file, by their names in the
// table. Two types of a package that are declared in functions can have the same name; their fields
// must then have the same comments.
func addFieldDocs(t *testing.T, docs map[string]string, s source) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "../"+s.file, nil, parser.ParseComments)
	require.NoError(t, err)
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok {
			return true
		}
		fields, ok := spec.Type.(*ast.StructType)
		if !ok {
			return true
		}
		for _, field := range fields.Fields.List {
			if field.Doc == nil || len(field.Names) != 1 || !inJSON(field) {
				continue
			}
			name := strings.TrimPrefix(s.folder, "internal/") + "." + spec.Name.Name + "." + field.Names[0].Name
			text := strings.Join(strings.Fields(field.Doc.Text()), " ")
			require.Contains(t, []string{"", text}, docs[name], "%s has two comments", name)
			docs[name] = text
		}
		return true
	})
}

// inJSON reports whether a field has a name in JSON.
func inJSON(field *ast.Field) bool {
	if field.Tag == nil {
		return false
	}
	tag, err := strconv.Unquote(field.Tag.Value)
	name, _, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
	return err == nil && name != "" && name != "-"
}
