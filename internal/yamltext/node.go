package yamltext

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v4"
)

// nodeOf returns a value as a node.
func nodeOf(value any) *yaml.Node {
	switch v := value.(type) {
	case Map:
		n := &yaml.Node{Kind: yaml.MappingNode}
		for _, e := range v {
			n.Content = append(n.Content, textNode(e.Key), nodeOf(e.Value))
		}
		return n
	case []string:
		n := &yaml.Node{Kind: yaml.SequenceNode}
		for _, each := range v {
			n.Content = append(n.Content, textNode(each))
		}
		return n
	case []any:
		n := &yaml.Node{Kind: yaml.SequenceNode}
		for _, each := range v {
			n.Content = append(n.Content, nodeOf(each))
		}
		return n
	case string:
		return textNode(v)
	}
	n := &yaml.Node{}
	if err := n.Encode(value); err != nil {
		return textNode("")
	}
	n.Style = 0
	return n
}

func textNode(s string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s} }

// setPath sets the value at a path of a mapping.
func setPath(n *yaml.Node, path []string, value any) {
	if n == nil {
		return
	}
	_, v := member(n, path[0])
	switch {
	case v == nil && len(path) == 1:
		n.Content = append(n.Content, textNode(path[0]), nodeOf(value))
	case v == nil:
		m := &yaml.Node{Kind: yaml.MappingNode}
		setPath(m, path[1:], value)
		n.Content = append(n.Content, textNode(path[0]), m)
	case len(path) == 1:
		*v = *nodeOf(value)
	default:
		if v.Kind != yaml.MappingNode {
			*v = yaml.Node{Kind: yaml.MappingNode}
		}
		setPath(v, path[1:], value)
	}
}

// removePath removes the entry at a path of a mapping.
func removePath(n *yaml.Node, path []string) {
	for i := 0; n != nil && i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value != path[0] {
			continue
		}
		if len(path) > 1 {
			removePath(n.Content[i+1], path[1:])
			return
		}
		n.Content = append(n.Content[:i:i], n.Content[i+2:]...)
		return
	}
}

// flow returns a value in flow style, on one line.
func flow(value any) string {
	switch v := value.(type) {
	case Map:
		var parts []string
		for _, e := range v {
			parts = append(parts, scalar(e.Key)+": "+flow(e.Value))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case []string:
		var parts []string
		for _, each := range v {
			parts = append(parts, scalar(each))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case []any:
		var parts []string
		for _, each := range v {
			parts = append(parts, flow(each))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case string:
		return scalar(v)
	}
	text, err := yaml.Marshal(value)
	if err != nil {
		return `""`
	}
	return strings.TrimSpace(string(text))
}

// scalar returns a text as a scalar: plain if that reads back as the same text, and otherwise in
// double quotes.
func scalar(s string) string {
	if isPlain(s) {
		return s
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == 0x2028 || r == 0x2029 || r == 0xfeff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// isPlain reports whether a text reads back as the same text without quotes in every position, also
// in a flow sequence.
func isPlain(s string) bool {
	if s == "" || strings.TrimSpace(s) != s || strings.ContainsAny(s, "\"'{}[],&*#!|>%@`\\\n\r\t:?") ||
		strings.ContainsAny(s[:1], "-=~.<") {
		return false
	}
	for _, r := range s {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r == 0x2028 || r == 0x2029 || r == 0xfeff {
			return false
		}
	}
	var n yaml.Node
	if yaml.Unmarshal([]byte(s), &n) != nil || len(n.Content) != 1 {
		return false
	}
	return n.Content[0].ShortTag() == "!!str" && n.Content[0].Value == s
}
