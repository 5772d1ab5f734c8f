package tree

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tree"
)

// A mergeNode is a node of the JSON that is merged. Names of members ignore case. A missing member
// changes nothing.
//
// The exported members are parsed; the others are set by the merge: match and matched by matchAll,
// status and path while the texts are changed, and final with the children of a note or section. A
// pointer that is nil means that the JSON does not have the member, which differs from an empty
// one: an empty list of children removes all children with the strategy replace, and no list leaves
// them alone.
type mergeNode struct {
	NodeID      string         `json:"nodeId"`
	UID         string         `json:"uid"`
	Kind        tree.Kind      `json:"kind"`
	PayloadType string         `json:"payloadType"`
	Title       *string        `json:"title"`
	Tags        *[]string      `json:"tags"`
	Payload     map[string]any `json:"payload"`
	Body        *string        `json:"body"`
	Children    *[]*mergeNode  `json:"children"`

	parent  *mergeNode // nil for the node above the root
	match   tree.Node  // node of the vault, if matched is set
	matched bool
	status  string       // created, updated, replaced, skipped or unchanged
	path    string       // path of the file of a new note or folder
	final   []*mergeNode // children after the merge, in order; nil: not in the JSON
}

// The limits of a merge.
const (
	maxMerged      = 10_000 // nodes
	maxMergedDepth = 256    // levels
)

// readMerge parses the JSON of a merge: the output of export_subtree, as an object or as a string
// that contains it.
//
// The JSON can have up to three wrappings: the root with its version, the answer of the tool and
// the envelope. The error is INVALID_PARAMETER about the argument json.
func readMerge(data tool.JSON) (*mergeNode, error) {
	raw := json.RawMessage(data)
	var text string
	if json.Unmarshal(raw, &text) == nil {
		raw = json.RawMessage(text)
	}
	for range 3 { // an answer of export_subtree wraps the JSON in members
		var wrapped struct{ Node, JSON, Data json.RawMessage }
		if json.Unmarshal(raw, &wrapped) != nil {
			break
		}
		for _, inner := range []json.RawMessage{wrapped.Node, wrapped.JSON, wrapped.Data} {
			if inner != nil {
				raw = inner
				break
			}
		}
	}
	var root *mergeNode
	if err := json.NewDecoder(bytes.NewReader(raw)).Decode(&root); err != nil || root == nil {
		return nil, badMerge("json", "json is not a node in the format of export_subtree")
	}
	count := 0
	return root, root.check(0, &count)
}

// badMerge returns an INVALID_PARAMETER fault about json.
func badMerge(reason, format string, args ...any) *fault.Fault {
	return invalidParameter(reason, format, args...).With("argument", "json").Fix("give the output of export_subtree")
}

// check validates a node and its descendants, and sets their kinds from their addresses. It returns
// BATCH_TOO_LARGE beyond the limits.
//
// The kind follows from the form of the address. Only if nodeId is a uid is the member kind used. A
// root of kind vault is valid.
func (n *mergeNode) check(depth int, count *int) error {
	*count++
	if *count > maxMerged || depth > maxMergedDepth {
		return fault.New(fault.BatchTooLarge, "json has more than %d nodes or %d levels", maxMerged, maxMergedDepth).
			With("argument", "json").With("max", maxMerged).Fix("merge a smaller subtree")
	}
	if n.NodeID == "" {
		return badMerge("missing_node_id", "a node of json has no nodeId")
	}
	kind := kindOf(n.NodeID)
	// A uid does not say of which kind its node is.
	if _, isUID := index.ParseUID(n.NodeID); isUID && n.Kind != "" {
		kind = n.Kind
	}
	if n.Kind != "" && n.Kind != kind {
		return badMerge(kindMismatch, "the address of a node of json does not match its kind").With("nodeId", n.NodeID)
	}
	n.Kind = kind
	if n.Children == nil {
		return nil
	}
	for _, child := range *n.Children {
		if child == nil {
			return badMerge("json", "a node of json is null")
		}
		child.parent = n
		if err := child.check(depth+1, count); err != nil {
			return err
		}
		if !mayContain(n.Kind, child.Kind) {
			return badMerge(kindMismatch, "a node of json cannot be below the one above it").
				With("nodeId", child.NodeID)
		}
	}
	return nil
}

// kindOf returns the kind of the node at an address.
func kindOf(id string) tree.Kind {
	switch {
	case id == "/":
		return tree.Vault
	case strings.Contains(id, "#"):
		return tree.Section
	case strings.HasSuffix(id, "/"):
		return tree.Folder
	}
	return tree.Note
}

// mayContain reports whether a node of the kind below can be a child of a node of the kind above:
// folders and notes below the vault and folders, sections below notes and sections.
func mayContain(above, below tree.Kind) bool {
	inFolder := above == tree.Vault || above == tree.Folder
	return inFolder && (below == tree.Folder || below == tree.Note) || !inFolder && below == tree.Section
}

// each calls do with a node and all its descendants. It stops at the first error and returns it.
func (n *mergeNode) each(do func(*mergeNode) error) error {
	if err := do(n); err != nil {
		return err
	}
	for _, child := range n.children() {
		if err := child.each(do); err != nil {
			return err
		}
	}
	return nil
}

// children returns the children in the JSON, or nil.
func (n *mergeNode) children() []*mergeNode {
	if n.Children == nil {
		return nil
	}
	return *n.Children
}

// key returns the last part of the address: `#goals`, `website`, or `archive/`.
func (n *mergeNode) key() string {
	if _, slug, is := strings.Cut(n.NodeID, "#"); is {
		return "#" + slug
	}
	id := strings.TrimSuffix(strings.TrimSuffix(n.NodeID, "/"), ".md")
	id = id[strings.LastIndexByte(id, '/')+1:]
	if n.Kind == tree.Folder {
		return id + "/"
	}
	return id
}
