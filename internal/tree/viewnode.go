package tree

import (
	"bytes"
	"encoding/json"
)

// A ViewNode is a node in the form of views: in JSON, its fields are members next to the properties
// that every node has. A field with the name of one of these is a member of `payload`. nil pointers
// and empty texts are omitted.
type ViewNode struct {
	NodeID        string
	UID           string
	PayloadType   string
	Name, Title   *string
	Kind          Kind
	Tags          []string
	Fields        []Property // in the form of answers
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

// MarshalJSON writes the members in the order of spec/agent-interface.md: identity, fields,
// children. A map would sort them by name. Of a skeleton, only the address and the children are
// written.
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

// whole writes the members of a node that is not a skeleton, except nodeId and children. Members
// without a value are omitted. Fields of the note become members of the node; those whose names are
// structural are in an object of their own, payload.
func (v *ViewNode) whole(w *members) {
	w.text("payloadType", v.PayloadType)
	w.text("uid", v.UID)
	w.text("kind", string(v.Kind))
	w.some("name", v.Name)
	w.some("title", v.Title)
	if len(v.Tags) > 0 {
		w.add("tags", v.Tags)
	}
	// Fields with structural names would hide the properties of the node.
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

// View returns the node in the form of views, without its children and its text.
func (s Shaper) View(n Node) *ViewNode {
	shape := s.Whole(n)
	v := &ViewNode{
		NodeID: shape.NodeID, UID: shape.UID, PayloadType: shape.PayloadType, Name: shape.Name, Title: shape.Title,
		Kind: shape.Kind, Tags: shape.Tags, Version: shape.Version, Reference: shape.Reference,
		IsExpanded: shape.IsExpanded, ChildrenCount: shape.ChildrenCount, BodyBytes: shape.BodyBytes,
	}
	for _, f := range s.Tree.Payload(n) {
		if shown, ok := s.Filter.value(fieldPath(f.Name), f.Value); ok {
			v.Fields = append(v.Fields, Property{f.Name, AnswerValue(shown)})
		}
	}
	return v
}

// members is a writer of a JSON object that keeps the order of its members. After an error it
// writes nothing more.
type members struct {
	b   bytes.Buffer
	err error
}

// add writes a member.
func (m *members) add(name string, v any) {
	if m.err != nil {
		return
	}
	// The first member follows a brace, the others a comma.
	m.b.WriteByte("{,"[min(m.b.Len(), 1)])
	for i, part := range []any{name, v} {
		if i > 0 {
			m.b.WriteByte(':')
		}
		enc := json.NewEncoder(&m.b)
		// Markdown contains < and >, which would be escaped.
		enc.SetEscapeHTML(false)
		if m.err = enc.Encode(part); m.err != nil {
			return
		}
		m.b.Truncate(m.b.Len() - 1) // the line break of Encode
	}
}

// text writes a member with a text, unless the text is empty.
func (m *members) text(name, v string) {
	if v != "" {
		m.add(name, v)
	}
}

// some writes a member with a text, unless v is nil.
func (m *members) some(name string, v *string) {
	if v != nil {
		m.add(name, *v)
	}
}

// end closes the object and returns it, or the first error.
func (m *members) end() ([]byte, error) {
	if m.err != nil {
		return nil, m.err
	}
	m.b.WriteByte('}')
	return m.b.Bytes(), nil
}
