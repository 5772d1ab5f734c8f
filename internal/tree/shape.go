package tree

import (
	"time"

	"github.com/rookeryhq/rookery/internal/index"
)

// A Shape is a node in the form of answers. Members that the filter does not show are omitted.
//
// Numbers and texts that can be zero are pointers, because a shown zero value differs from an
// omitted one.
type Shape struct {
	NodeID string `json:"nodeId"`
	// the identity of the node, which it keeps when its address changes
	UID string `json:"uid,omitempty"`
	// vault, folder, note or section
	Kind        Kind    `json:"kind,omitempty"`
	PayloadType string  `json:"payloadType,omitempty"`
	Name        *string `json:"name,omitempty"`
	// of the file, or of the folder with a slash at the end
	Path string `json:"path,omitempty"`
	// how many nodes are above
	Depth *int `json:"depth,omitempty"`
	// of the heading of a section
	Level         int  `json:"level,omitempty"`
	ChildrenCount *int `json:"childrenCount,omitempty"`
	// in the view of the session
	IsExpanded *bool    `json:"isExpanded,omitempty"`
	Tags       []string `json:"tags,omitempty"`
	Title      *string  `json:"title,omitempty"`
	Payload    *Payload `json:"payload,omitempty"`
	// its own Markdown, without that of the nodes below
	Body *string `json:"body,omitempty"`
	// its Markdown with that of all nodes below
	Content   *string `json:"content,omitempty"`
	BodyBytes *int    `json:"bodyBytes,omitempty"`
	// with which it changed last
	Version   string     `json:"version,omitempty"`
	CreatedAt *time.Time `json:"createdAt,omitempty"`
	UpdatedAt *time.Time `json:"updatedAt,omitempty"`
	// of a node that stands for another one: its fields, its text and its children are the other's
	Reference *Reference `json:"reference,omitempty"`
	// the node is shown below one that stands for the node above it
	ViaReference bool `json:"viaReference,omitempty"`
	// the vault first
	Ancestors []NodeName `json:"ancestors,omitempty"`
	// explicit: the tag is one of its field tags; inline: it is #tag in its text
	Source string `json:"source,omitempty"`
	// the node was on a page before, and is here for what is below it
	Skeleton bool     `json:"skeleton,omitempty"`
	Children []*Shape `json:"children,omitempty"`
}

// A NodeName is the address and the name of a node.
type NodeName struct {
	NodeID string `json:"nodeId"`
	Name   string `json:"name"`
}

// A Reference is the relation of a node whose own text is one transclusion to its Source.
type Reference struct {
	TargetID string `json:"targetId,omitempty"`
	Broken   bool   `json:"broken,omitempty"`
}

// A Payload is the fields of a node by name, in the form of answers.
type Payload map[string]any

// A Shaper builds shapes of nodes. It reads only properties that the Filter shows, because some,
// such as the number of children, cost more than the others. Texts are set by the caller, who reads
// them.
type Shaper struct {
	Tree   *Tree
	Filter Filter
	Viewer *Viewer // nil if shapes do not say which nodes are expanded
}

// Item returns the shape of a node in a list. Whole returns more. Properties that the filter does
// not show are left at their zero values and not computed.
//
// The type and the fields are those of the Source, and the identity and the name are those of the
// node itself.
func (s Shaper) Item(n Node) *Shape {
	t := s.Tree
	shape := &Shape{NodeID: n.ID()}
	if s.Filter.Shows("uid") {
		shape.UID = t.UID(n)
	}
	if s.Filter.Shows("kind") {
		shape.Kind = n.Kind()
	}
	if s.Filter.Shows("payloadType") {
		source, _ := t.Source(n)
		shape.PayloadType = t.Type(source)
	}
	if s.Filter.Shows("name") {
		shape.Name = new(t.Name(n))
	}
	if s.Filter.Shows("depth") {
		shape.Depth = new(t.Depth(n))
	}
	if s.Filter.Shows("childrenCount") {
		shape.ChildrenCount = new(t.ChildrenCount(n))
	}
	if s.Filter.Shows("version") {
		shape.Version = version(t.Version(n))
	}
	shape.Payload = s.payload(n)
	if s.Filter.Shows("reference") {
		shape.Reference = t.Reference(n)
	}
	return shape
}

// WithAncestors returns Item with the ancestors of the node.
func (s Shaper) WithAncestors(n Node) *Shape {
	shape := s.Item(n)
	if s.Filter.Shows("ancestors") {
		shape.Ancestors = s.Ancestors(n)
	}
	return shape
}

// Whole returns the shape of a node with everything except its text. Tags and the size of the body
// are those of the Source; the path, the level and the times are those of the node itself.
func (s Shaper) Whole(n Node) *Shape {
	shape := s.Item(n)
	if s.Filter.Shows("path") {
		shape.Path = pathOf(n)
	}
	if s.Filter.Shows("level") {
		shape.Level = n.Level()
	}
	if s.Viewer != nil && s.Filter.Shows("isExpanded") {
		shape.IsExpanded = new(s.Viewer.Expanded(n))
	}
	source, _ := s.Tree.Source(n)
	if s.Filter.Shows("tags") {
		shape.Tags = s.Tree.Tags(source)
	}
	if s.Filter.Shows("title") {
		shape.Title = new(s.Tree.Name(n))
	}
	if part := s.Tree.part(source); part != nil && s.Filter.Shows("bodyBytes") {
		shape.BodyBytes = new(int(part.BodyBytes))
	}
	s.times(shape, n.Times())
	return shape
}

// times sets the times of a shape, except zero ones.
func (s Shaper) times(shape *Shape, times index.Times) {
	if !times.Created.IsZero() && s.Filter.Shows("createdAt") {
		shape.CreatedAt = new(times.Created.UTC())
	}
	if !times.Modified.IsZero() && s.Filter.Shows("updatedAt") {
		shape.UpdatedAt = new(times.Modified.UTC())
	}
}

// Ancestors returns the nodes above, the vault first.
func (s Shaper) Ancestors(n Node) []NodeName {
	all := []NodeName{}
	for _, above := range s.Tree.Ancestors(n) {
		all = append(all, NodeName{above.ID(), s.Tree.Name(above)})
	}
	return all
}

// payload returns the fields that the filter shows; nil if it shows no field at all.
func (s Shaper) payload(n Node) *Payload {
	if !s.Filter.Shows("payload") {
		return nil
	}
	shown := Payload{}
	for _, f := range s.Tree.Payload(n) {
		if v, ok := s.Filter.value(fieldPath(f.Name), f.Value); ok {
			shown[f.Name] = AnswerValue(v)
		}
	}
	return &shown
}

// fieldPath returns the path of a field.
func fieldPath(name string) string {
	if IsStructural(name) {
		return fieldPrefix + name
	}
	return name
}

// pathOf returns the path of the file of a node, or the path of a folder.
func pathOf(n Node) string {
	if n.Note != nil {
		return n.Note.Path
	}
	return n.Folder
}
