package tree

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"slices"
	"strconv"
	"strings"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/state"
	"github.com/rookeryhq/rookery/internal/tree"
	"github.com/rookeryhq/rookery/internal/vault"
)

// The formats of an export.
const (
	asJSON     = "json"
	asMarkdown = "markdown"
	asCSV      = "csv"
	asXML      = "xml"
)

// An exportSubtreeIn is the input of tree_export_subtree.
type exportSubtreeIn struct {
	nodeArg
	// json: put the node in an object with rootNodeId and version
	IncludeViewRoot bool `json:"includeViewRoot,omitempty" alias:"include_view_root"`
	// json for import_merge; markdown, a ZIP archive of the files; csv, a row for each node; or xml
	Format string `json:"format,omitempty" enum:"json,markdown,csv,xml" default:"json"`
	tool.AsOf
}

// An exportSubtreeOut is the output of tree_export_subtree. Exactly one of JSON, Text and Content
// is set.
type exportSubtreeOut struct {
	Format    string `json:"format"`
	NodeCount int    `json:"nodeCount"`
	// of the format json
	JSON tool.Object `json:"json,omitempty"`
	// of the formats csv and xml
	Text string `json:"text,omitempty"`
	// of the format markdown: a zip
	Content string `json:"content_base64,omitempty"`
	versionOut
}

// exportSubtree returns the tool that exports a node and its descendants, as JSON, CSV, XML or a
// zip of Markdown files.
//
// An export has no pages: it is one document, which must fit into an answer. Only the JSON form can
// be merged back with tree_import_merge, and the zip contains the files byte for byte.
func (f tools) exportSubtree() *tool.Tool {
	s := spec("export_subtree", "Export a node and its descendants")
	s.Role, s.Kind = auth.Reader, tool.Read
	s.Route = tool.Route{Method: "GET", Path: "/view/export-subtree"}
	s.Commands = []tool.Command{{Words: "node export", Args: []string{"nodeId"}}}
	return tool.New(s, func(ctx context.Context, c auth.Caller, in exportSubtreeIn) (exportSubtreeOut, error) {
		var out exportSubtreeOut
		r, top, err := f.readNode(ctx, c, nodeRef{in.Vault, in.AsOf, "nodeId", in.NodeID}, &out)
		if err != nil {
			return out, err
		}
		out.Format = in.Format
		if in.Format == asMarkdown {
			return out, r.exportFiles(ctx, top, &out)
		}
		e := exporter{treeView: r, out: &out}
		root, err := e.build(ctx, top)
		if err != nil {
			return out, err
		}
		return out, in.write(root, &out)
	})
}

// write writes the tree of nodes in the format of the call. It returns BATCH_TOO_LARGE if it does
// not fit into an answer.
func (in exportSubtreeIn) write(root *exportNode, out *exportSubtreeOut) (err error) {
	switch in.Format {
	case asCSV:
		out.Text, err = root.csv()
	case asXML:
		var data []byte
		data, err = xml.MarshalIndent(root, "", "  ")
		out.Text = xml.Header + string(data) + "\n"
	default:
		var data []byte
		if data, err = tool.Marshal(root); in.IncludeViewRoot {
			data, err = tool.Marshal(exportRoot{root.NodeID, out.VersionToken, data})
		}
		out.JSON = data
	}
	if err == nil && !out.Fits(out.Text) {
		err = tooLargeExport()
	}
	return err
}

// tooLargeExport returns the BATCH_TOO_LARGE fault of an export.
func tooLargeExport() error {
	return fault.New(fault.BatchTooLarge, "the subtree is too large for one answer").
		Fix("export smaller subtrees, one after the other")
}

// An exportNode is one node in an export, in the format that import_merge reads. A node that
// represents another one is exported with its own text.
//
// Level is 0 except for sections. Body is the own text of the node without its heading. An example
// in JSON:
//
//	{"nodeId": "projects/website#goals", "uid": "…", "kind": "section", "payloadType": "section",
//	 "title": "Goals", "level": 2, "payload": {"owner": "freya"}, "body": "Fast.", "children": []}
type exportNode struct {
	XMLName     xml.Name      `json:"-" xml:"node"`
	NodeID      string        `json:"nodeId" xml:"nodeId"`
	UID         string        `json:"uid,omitempty" xml:"uid,omitempty"`
	Kind        tree.Kind     `json:"kind" xml:"kind"`
	PayloadType string        `json:"payloadType" xml:"payloadType"`
	Title       string        `json:"title" xml:"title"`
	Level       int           `json:"level,omitempty" xml:"level,omitempty"`
	Tags        []string      `json:"tags,omitempty" xml:"tags>tag,omitempty"`
	Payload     exportFields  `json:"payload" xml:"payload"`
	Body        string        `json:"body" xml:"body"`
	Children    []*exportNode `json:"children" xml:"children>node"`

	parent string // address of the parent, for CSV; empty for the root
	depth  int    // distance from the root, for CSV
}

// An exportRoot is an export with its root and version.
type exportRoot struct {
	RootNodeID string          `json:"rootNodeId"`
	Version    string          `json:"version"`
	Node       json.RawMessage `json:"node"`
}

// exportFields are the fields of a node in the order of the text. A map would lose the order,
// which a later merge should keep.
type exportFields []tree.Property

// MarshalJSON encodes the fields as an object.
func (p exportFields) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, f := range p {
		if i > 0 {
			b.WriteByte(',')
		}
		for j, part := range []any{f.Name, tree.AnswerValue(f.Value)} {
			if j > 0 {
				b.WriteByte(':')
			}
			data, err := tool.Marshal(part)
			if err != nil {
				return nil, err
			}
			b.Write(data)
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// MarshalXML encodes each field as an element, with its name as an attribute.
func (p exportFields) MarshalXML(e *xml.Encoder, start xml.StartElement) error {
	if err := e.EncodeToken(start); err != nil {
		return err
	}
	for _, f := range p {
		field := xml.StartElement{Name: xml.Name{Local: "field"},
			Attr: []xml.Attr{{Name: xml.Name{Local: "name"}, Value: f.Name}}}
		if err := e.EncodeElement(tree.Text(f.Value), field); err != nil {
			return err
		}
	}
	return e.EncodeToken(start.End())
}

// An exporter builds an export.
type exporter struct {
	*treeView
	out   *exportSubtreeOut
	nodes map[tree.Node]*exportNode // the nodes so far
}

// build returns a node with all its descendants. It returns BATCH_TOO_LARGE if they do not fit into
// an answer.
//
// Nodes come in the order of the tree, each after its parent, so the parent is always in e.nodes
// already. The size is checked node by node, so that a large subtree does not fill the memory
// first.
func (e *exporter) build(ctx context.Context, top tree.Node) (*exportNode, error) {
	e.nodes = map[tree.Node]*exportNode{}
	e.prefetchTexts(ctx, top)
	going := state.KeepGoing(ctx)
	for n := range e.Walk(top, nil) {
		if !going() {
			return nil, ctx.Err()
		}
		node, err := e.node(ctx, n)
		if err != nil {
			return nil, err
		}
		if !e.out.Fits(node) {
			return nil, tooLargeExport()
		}
		e.nodes[n] = node
		e.out.NodeCount++
		if n == top {
			continue
		}
		above, _ := e.Parent(n)
		parent := e.nodes[above]
		node.parent, node.depth = parent.NodeID, parent.depth+1
		parent.Children = append(parent.Children, node)
	}
	return e.nodes[top], ctx.Err()
}

// prefetchTexts prefetches the texts of the first notes, as many as state.View.Prefetch loads at
// once. The others are read one by one.
//
// It is called before a walk reads the texts one by one.
func (e *exporter) prefetchTexts(ctx context.Context, top tree.Node) {
	e.view.Prefetch(ctx, func(yield func(string) bool) {
		for f := range filesBelow(e.Index, top.Holder()) {
			if !yield(f.Path) {
				return
			}
		}
	})
}

// node returns a node without its children.
func (e *exporter) node(ctx context.Context, n tree.Node) (*exportNode, error) {
	own, _, err := e.texts.load(ctx, n)
	return &exportNode{
		NodeID: n.ID(), UID: e.UID(n), Kind: n.Kind(), PayloadType: e.Type(n), Title: e.Name(n), Level: n.Level(),
		Tags: e.Tags(n), Payload: e.OwnPayload(n), Body: string(own), Children: []*exportNode{},
	}, err
}

// columns are the first columns of a CSV row. A column for each field follows: `payload.` and its
// name.
var columns = []string{"nodeId", "uid", "parentId", "depth", "kind", "payloadType", "title", "level", "tags", "body"}

// csv returns the nodes as CSV, one row for each, in the order of the tree.
//
// The columns for fields are those of all nodes, in alphabetical order. A node without the field
// has an empty cell.
func (x *exportNode) csv() (string, error) {
	var names []string
	known := map[string]bool{}
	x.each(func(n *exportNode) {
		for _, f := range n.Payload {
			if !known[f.Name] {
				known[f.Name], names = true, append(names, f.Name)
			}
		}
	})
	slices.Sort(names)
	head := slices.Clone(columns)
	for _, name := range names {
		head = append(head, "payload."+name)
	}
	var b strings.Builder
	w, failed := csv.NewWriter(&b), error(nil)
	write := func(row []string) {
		switch {
		case failed != nil:
		case b.Len() > tool.MaxBody:
			failed = tooLargeExport()
		default:
			failed = w.Write(row)
			w.Flush()
		}
	}
	write(head)
	x.each(func(n *exportNode) { write(n.row(names)) })
	return b.String(), failed
}

// each calls do with the node and all its descendants, each after its parent.
func (x *exportNode) each(do func(*exportNode)) {
	do(x)
	for _, child := range x.Children {
		child.each(do)
	}
}

// row returns the CSV row of a node with the given fields.
func (x *exportNode) row(fields []string) []string {
	level := ""
	if x.Level > 0 {
		level = strconv.Itoa(x.Level)
	}
	row := []string{
		x.NodeID, x.UID, x.parent, strconv.Itoa(x.depth), string(x.Kind), x.PayloadType, x.Title, level,
		strings.Join(x.Tags, ", "), x.Body,
	}
	values := map[string]string{}
	for _, f := range x.Payload {
		values[f.Name] = tree.Text(f.Value)
	}
	for _, name := range fields {
		row = append(row, values[name])
	}
	return row
}

// maxUnpacked is the maximum total size of the files in a zip, in bytes.
//
// The zip itself is limited by the size of an answer.
const maxUnpacked = 32 << 20

// exportFiles adds a zip with the files of a node and its descendants to the output. For a section,
// the zip contains one file with its Markdown.
//
// NodeCount counts the nodes, not the files.
func (r *treeView) exportFiles(ctx context.Context, top tree.Node, out *exportSubtreeOut) error {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	unpacked := 0
	add := func(path string, text []byte) error {
		unpacked += len(text)
		if unpacked > maxUnpacked || !out.Fits(path) {
			return tooLargeExport()
		}
		to, err := w.CreateHeader(&zip.FileHeader{Name: path, Method: zip.Deflate})
		if err == nil {
			_, err = to.Write(text)
		}
		if err == nil && b.Len() > tool.MaxBody {
			err = tooLargeExport()
		}
		return err
	}
	if err := r.eachFile(ctx, top, add); err != nil {
		return err
	}
	going := state.KeepGoing(ctx)
	for range r.Walk(top, nil) {
		if !going() {
			return ctx.Err()
		}
		out.NodeCount++
	}
	if err := w.Close(); err != nil {
		return err
	}
	out.Content = base64.StdEncoding.EncodeToString(b.Bytes())
	if !out.Fits(out.Content) {
		return tooLargeExport()
	}
	return nil
}

// eachFile calls do with each file of a node and its descendants: its path relative to the parent
// folder of the node, and its text.
//
// Only files that are content of the tree are included: notes and the own files of folders. The
// name of the file of a section is derived from its address.
func (r *treeView) eachFile(ctx context.Context, top tree.Node, do func(path string, text []byte) error) error {
	if top.Section > 0 {
		text, err := r.text(ctx, top)
		if err != nil {
			return err
		}
		e := tree.Extents(text, markdown.Parse(text))[top.Section]
		name := vault.Slug(strings.TrimPrefix(top.ID(), top.Holder().ID()+"#"))
		return do(name+".md", append(bytes.TrimRight(text[e.Start:e.Content.End], "\r\n"), '\n'))
	}
	above, _ := r.Parent(top)
	e := exporter{treeView: r}
	e.prefetchTexts(ctx, top)
	for f := range filesBelow(r.Index, top) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		text, err := r.view.Vault.Text(ctx, f.Body)
		if err != nil {
			return err
		}
		if err := do(strings.TrimPrefix(f.Path, above.Folder), text); err != nil {
			return err
		}
	}
	return nil
}
