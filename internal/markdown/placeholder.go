package markdown

import (
	"bytes"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v4"
)

// placeholder matches a part of a template that a plugin replaces, such as `{{date}}`. YAML would
// parse it as a mapping.
var placeholder = regexp.MustCompile(`\{\{[^{}\r\n]*\}\}`)

// wholePlaceholder matches a field whose whole value is a placeholder.
var wholePlaceholder = regexp.MustCompile(`(?m)^[^\s#:][^:\r\n]*:[ \t]*["']?\{\{[^{}\r\n]*\}\}["']?[ \t]*\r?$`)

// These texts replace the braces of placeholders while YAML parses them. They have the same length,
// so that offsets stay the same, and are plain text in YAML.
const (
	openHidden  = "~<"
	closeHidden = ">~"
)

// hidePlaceholders returns a text with the braces of placeholders replaced, and whether any were.
// It returns a text that already contains the replacements unchanged, because showPlaceholders
// could not distinguish them. The length of the text is the same.
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

// showPlaceholders restores the placeholders in the scalars of a node.
func showPlaceholders(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode {
		n.Value = strings.NewReplacer(openHidden, "{{", closeHidden, "}}").Replace(n.Value)
	}
	for _, c := range n.Content {
		showPlaceholders(c)
	}
}
