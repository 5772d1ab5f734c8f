package tool

import (
	_ "embed"
	"reflect"
	"strings"
	"sync"
)

// fieldDocText contains the comments of the fields of the tools' inputs and outputs. A line has the
// name of a field and its comment, separated by a tab. make docs writes it.
//
//go:embed fielddocs.txt
var fieldDocText string

// fieldDocs returns the comments by the names of the fields: the package below internal, the type,
// and the field, such as tools/raven.addIn.Text. It parses them once.
var fieldDocs = sync.OnceValue(func() map[string]string {
	docs := make(map[string]string, strings.Count(fieldDocText, "\n"))
	for line := range strings.Lines(fieldDocText) {
		name, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		docs[name] = text
	}
	return docs
})

// ownPackages is the beginning of the paths of the packages in fieldDocs.
const ownPackages = "github.com/rookeryhq/rookery/internal/"

// docOf returns the description of a field of t: its comment, as fieldDocs contains it, or its tag
// `jsonschema`, which the tools of tests use. It is empty for a field without either.
func docOf(t reflect.Type, field reflect.StructField) string {
	if text := field.Tag.Get("jsonschema"); text != "" {
		return text
	}
	typeName, _, _ := strings.Cut(t.Name(), "[") // without type arguments
	return fieldDocs()[strings.TrimPrefix(t.PkgPath(), ownPackages)+"."+typeName+"."+field.Name]
}
