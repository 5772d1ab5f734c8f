package tree

import (
	"bytes"
	"encoding/json"
)

// A ViewNode is a node as a view has it: its fields are members of it, beside what every node has. A field of the
// name of one of those is a member of `payload`.
type ViewNode struct {
	NodeID        string
	UID           string
	PayloadType   string
	Name, Title   *string
	Kind          Kind
	Tags          []string
	Fields        []Property // as answers have them
	Body, Content *string
	BodyBytes     *int
	Version       string
	Reference     *Reference
	ViaReference  bool
	IsExpanded    *bool
	ChildrenCount *int
	Skeleton      bool
	Children      []*ViewNode
}

// MarshalJSON writes the members in the order of spec/agent-interface.md: what the node is, its fields, its children.
func (v *ViewNode) MarshalJSON() ([]byte, error) {
	w := members{}
	w.add("nodeId", v.NodeID)
	if v.Skeleton {
		w.add("skeleton", true)
	} else {
		v.whole(&w)
	}
	if len(v.Children) > 0 {
		w.add("children", v.Children)
	}
	return w.end()
}

// whole writes what a node has that is no skeleton.
func (v *ViewNode) whole(w *members) {
	w.text("payloadType", v.PayloadType)
	w.text("uid", v.UID)
	w.text("kind", string(v.Kind))
	w.some("name", v.Name)
	w.some("title", v.Title)
	if len(v.Tags) > 0 {
		w.add("tags", v.Tags)
	}
	clashing := Payload{}
	for _, f := range v.Fields {
		if IsStructural(f.Name) {
			clashing[f.Name] = f.Value
			continue
		}
		w.add(f.Name, f.Value)
	}
	if len(clashing) > 0 {
		w.add("payload", clashing)
	}
	w.some("body", v.Body)
	w.some("content", v.Content)
	if v.BodyBytes != nil {
		w.add("bodyBytes", *v.BodyBytes)
	}
	w.text("version", v.Version)
	if v.Reference != nil {
		w.add("reference", v.Reference)
	}
	if v.ViaReference {
		w.add("viaReference", true)
	}
	if v.IsExpanded != nil {
		w.add("isExpanded", *v.IsExpanded)
	}
	if v.ChildrenCount != nil {
		w.add("childrenCount", *v.ChildrenCount)
	}
}

// View is the node as a view has it, without its children and its text.
func (s Shaper) View(n Node) *ViewNode {
	shape := s.Whole(n)
	v := &ViewNode{
		NodeID: shape.NodeID, UID: shape.UID, PayloadType: shape.PayloadType, Name: shape.Name, Title: shape.Title,
		Kind: shape.Kind, Tags: shape.Tags, Version: shape.Version, Reference: shape.Reference,
		IsExpanded: shape.IsExpanded, ChildrenCount: shape.ChildrenCount, BodyBytes: shape.BodyBytes,
	}
	for _, f := range s.Tree.Payload(n) {
		if shown, ok := s.Filter.value(fieldPath(f.Name), f.Value); ok {
			v.Fields = append(v.Fields, Property{f.Name, Shown(shown)})
		}
	}
	return v
}

// members writes the members of a JSON object in the order in which they come.
type members struct {
	b   bytes.Buffer
	err error
}

func (m *members) add(name string, v any) {
	if m.err != nil {
		return
	}
	m.b.WriteByte("{,"[min(m.b.Len(), 1)])
	for i, part := range []any{name, v} {
		if i > 0 {
			m.b.WriteByte(':')
		}
		enc := json.NewEncoder(&m.b)
		enc.SetEscapeHTML(false)
		if m.err = enc.Encode(part); m.err != nil {
			return
		}
		m.b.Truncate(m.b.Len() - 1) // the line break
	}
}

// text adds a text that is not empty.
func (m *members) text(name, v string) {
	if v != "" {
		m.add(name, v)
	}
}

// some adds a text that is there.
func (m *members) some(name string, v *string) {
	if v != nil {
		m.add(name, *v)
	}
}

func (m *members) end() ([]byte, error) {
	if m.err != nil {
		return nil, m.err
	}
	m.b.WriteByte('}')
	return m.b.Bytes(), nil
}
