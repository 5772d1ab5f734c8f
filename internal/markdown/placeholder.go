package markdown

import (
	"bytes"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v4"
)

// placeholder is a place in a template that a plugin fills: `{{date}}`. YAML would take it for a mapping.
var placeholder = regexp.MustCompile(`\{\{[^{}\r\n]*\}\}`)

// wholePlaceholder is a field whose value is a placeholder.
var wholePlaceholder = regexp.MustCompile(`(?m)^[^\s#:][^:\r\n]*:[ \t]*["']?\{\{[^{}\r\n]*\}\}["']?[ \t]*\r?$`)

// The signs that stand for the braces of placeholders while YAML reads them: of the same length, so that
// every offset stays as it is, and plain text to YAML.
const (
	openHidden  = "~<"
	closeHidden = ">~"
)

// hidePlaceholders returns a text in which placeholders are plain text, and whether it has any. A text that
// has the signs itself stays as it is.
func hidePlaceholders(text []byte) ([]byte, bool) {
	has := func(sign string) bool { return bytes.Contains(text, []byte(sign)) }
	if !has("{{") || has(openHidden) || has(closeHidden) {
		return text, false
	}
	hidden := placeholder.ReplaceAllFunc(text, func(found []byte) []byte {
		return []byte(openHidden + string(found[2:len(found)-2]) + closeHidden)
	})
	return hidden, !bytes.Equal(hidden, text)
}

// showPlaceholders gives the scalars of a node their placeholders back.
func showPlaceholders(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode {
		n.Value = strings.NewReplacer(openHidden, "{{", closeHidden, "}}").Replace(n.Value)
	}
	for _, c := range n.Content {
		showPlaceholders(c)
	}
}
