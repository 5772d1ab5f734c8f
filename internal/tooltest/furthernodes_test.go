package tooltest

import (
	"context"
	"encoding/base64"
	"strings"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
)

var (
	nodeImport = tool.Spec{
		Name: "stack_import", Family: stackFamily, Title: "Import files",
		Doc:  "Answers what came in.\n\n## Example\n```sh\nrookery node import ./dump.json\n```",
		Kind: tool.Write, Idempotent: true,
		Route:    tool.Route{Method: "POST", Path: "/nodes/import"},
		Commands: []tool.Command{{Words: "node import", Args: []string{"kind"}}},
		Input: &tool.Files{
			Arg: "files", MaxFiles: 3, MaxBytes: 400, Body: "content", Binary: "content_base64",
			Any: true, Single: true,
			Split: map[string]tool.Split{".json": tool.Elements, ".csv": tool.Rows},
			Pick: &tool.Pick{Arg: "kind", Names: map[string][]string{
				"dump": {"*"}, "texts": {"*.txt", ".kept/log*.txt"},
			}},
		},
	}
	nodeExport = tool.Spec{
		Name: "stack_export", Family: stackFamily, Title: "Export files",
		Doc:      "Answers files, two a page.\n\n## Example\n```sh\nrookery node export a,b ./out\n```",
		Route:    tool.Route{Method: "GET", Path: "/nodes/export"},
		Commands: []tool.Command{{Words: "node export", Args: []string{"of"}}},
		Output: &tool.Files{
			Arg: "files", Body: "content", Binary: "content_base64", Any: true, Single: true,
			Fill: "exported.output",
		},
	}
)

// A NodeFile is a file on its way, as a text or in base64.
type NodeFile struct {
	Path    string `json:"path" size:"id" jsonschema:"its path"`
	Content string `json:"content,omitempty" text:"true" jsonschema:"its text"`
	Base64  string `json:"content_base64,omitempty" text:"true" jsonschema:"its bytes, where they are not UTF-8"`
	Part    int    `json:"part,omitempty" jsonschema:"of a file in several entries, which this is"`
	Offset  int    `json:"offset,omitempty" jsonschema:"elements in the entries before"`
}

type nodeImportIn struct {
	tool.Vault
	Kind  string     `json:"kind" jsonschema:"what the files are"`
	Files []NodeFile `json:"files" jsonschema:"the files"`
	change
}

type nodeImportOut struct {
	tool.Aside `json:"-"`
	Imported   []NodeFile `json:"imported" jsonschema:"the entries as they came"`
	Count      int        `json:"count"`

	partly bool
}

// Partly implements tool.Partial.
func (o *nodeImportOut) Partly() bool { return o.partly }

func (s *stack) importNodes(_ context.Context, _ auth.Caller, in nodeImportIn) (nodeImportOut, error) {
	out := nodeImportOut{Imported: []NodeFile{}}
	var problems []*fault.Fault
	for _, f := range in.Files {
		if f.Content == "refuse" {
			problems = append(problems, fault.New(fault.NoteTooLarge, "the file is refused").At(f.Path, 0))
			continue
		}
		out.Imported = append(out.Imported, f)
	}
	out.Count = len(out.Imported)
	if f := fault.Join(fault.NoteTooLarge, problems); f != nil {
		out.partly = true
		return out, f
	}
	return out, nil
}

type nodeExportIn struct {
	tool.Vault
	Of        string `json:"of" jsonschema:"names with commas; bin is not UTF-8, and long has two parts"`
	PageToken string `json:"pageToken,omitempty" size:"token" means:"token" jsonschema:"data.nextPageToken"`
}

type nodeExportOut struct {
	tool.Aside `json:"-"`
	Exported   []nodeExported `json:"exported" jsonschema:"the files of this page"`
	Provenance string         `json:"provenance" jsonschema:"all names"`
	Files      []NodeFile     `json:"files" jsonschema:"the files"`
}

// A nodeExported says where a node was written.
type nodeExported struct {
	Path   string `json:"path" jsonschema:"the node"`
	Output string `json:"output" jsonschema:"the file"`
}

func (s *stack) exportNodes(_ context.Context, _ auth.Caller, in nodeExportIn) (nodeExportOut, error) {
	out := nodeExportOut{Provenance: in.Of, Exported: []nodeExported{}, Files: []NodeFile{}}
	after, err := tool.ReadToken("pageToken", in.PageToken, stackFamily)
	if err != nil {
		return out, err
	}
	names := strings.Split(in.Of, ",")
	from := 0
	for i, name := range names {
		if name == after {
			from = i + 1
		}
	}
	for i := from; i < min(from+2, len(names)); i++ {
		if names[i] == "gone" {
			return out, fault.New(fault.NotFound, "there is no such node")
		}
		out.add(names[i])
	}
	more := from+2 < len(names)
	out.Paged(len(out.Exported), len(names), more, names[min(from+2, len(names))-1])
	return out, nil
}

// add adds the file of a node, whose name is that of the node behind its last dot.
func (o *nodeExportOut) add(name string) {
	file := name[strings.LastIndexByte(name, '.')+1:] + ".txt"
	o.Exported = append(o.Exported, nodeExported{name, file})
	switch name {
	case "bin":
		bytes := base64.StdEncoding.EncodeToString([]byte{0xff, 0})
		o.Files = append(o.Files, NodeFile{Path: file, Base64: bytes})
	case "long":
		o.Files = append(o.Files, NodeFile{Path: file, Content: "one ", Part: 1},
			NodeFile{Path: file, Content: "two", Part: 2})
	default:
		o.Files = append(o.Files, NodeFile{Path: file, Content: "text of " + name})
	}
}
