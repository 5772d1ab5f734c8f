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

// A mergeNode is a node of the JSON that is merged. Names of members are read without regard to their case. Members that
// are not there change nothing.
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

	parent  *mergeNode
	match   tree.Node // of the vault, if it is matched
	matched bool
	status  string
	path    string       // of the file that a new note or folder has
	final   []*mergeNode // what is below it at the end, in its order; nil stands for a node that the JSON does not have
}

// The limits of a merge.
const (
	maxMerged      = 10_000 // nodes
	maxMergedDepth = 256    // levels
)

// readMerge reads the JSON of a merge: what export_subtree answered, as an object or as its text.
func readMerge(data tool.JSON) (*mergeNode, error) {
	raw := json.RawMessage(data)
	var text string
	if json.Unmarshal(raw, &text) == nil {
		raw = json.RawMessage(text)
	}
	for range 3 { // an answer of export_subtree has the JSON in members
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

func badMerge(reason, format string, args ...any) *fault.Fault {
	return wrong(reason, format, args...).With("argument", "json").Fix("give the output of export_subtree")
}

// check is a fault for a node that cannot be one, and fills in what follows from its address.
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
			return badMerge(kindMismatch, "a node of json cannot be below the one above it").With("nodeId", child.NodeID)
		}
	}
	return nil
}

// kindOf is the kind that an address is of.
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

// mayContain reports whether a node of a kind may be below one of another kind.
func mayContain(above, below tree.Kind) bool {
	inFolder := above == tree.Vault || above == tree.Folder
	return inFolder && (below == tree.Folder || below == tree.Note) || !inFolder && below == tree.Section
}

// each calls a function with a node and all below it, until it returns an error.
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

func (n *mergeNode) children() []*mergeNode {
	if n.Children == nil {
		return nil
	}
	return *n.Children
}

// key is what the node is called in its address: `#goals`, `website`, or `archive/`.
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
