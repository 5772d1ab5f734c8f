package tree_test

import (
	"archive/zip"
	"bytes"
	"encoding/base64"
	"encoding/csv"
	"encoding/xml"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// awkward has texts that CSV, XML and JSON must escape.
var awkward = map[string]string{
	"a/_folder.md": "---\ntitle: \"A <b> & \\\"c\\\"\"\norder: [two, one]\n---\n\nAbout, \"all\".\n",
	"a/one.md":     "---\ntags: [x, y]\nn: 1\nlist: [1, two]\nref: \"[[a/two]]\"\n---\n\n# One, \"1\" <x>\n\nLine 1,\n\"line\" 2 & 3\n\n## S\n::section(k=v)\n\n![[a/two]]\n",
	"a/two.md":     "two\x01\n",
}

// TestExport covers the formats of export_subtree, which escape what they must.
func TestExport(t *testing.T) {
	p := open(t, awkward)
	answer := p.data(t, "export_subtree", args{"nodeId": "a/"})
	require.Equal(t, 4.0, answer["nodeCount"])
	root := answer["json"].(args)
	require.Equal(t, "A <b> & \"c\"", root["title"])
	require.Equal(t, "About, \"all\".", root["body"])
	children := root["children"].([]any)
	require.Equal(t, "a/two", children[0].(args)["nodeId"])
	one := children[1].(args)
	require.Equal(t, args{"n": 1.0, "list": []any{1.0, "two"}, "ref": "[[a/two]]"}, one["payload"])
	require.Equal(t, []any{"x", "y"}, one["tags"])
	s := one["children"].([]any)[0].(args)
	require.Equal(t, "![[a/two]]", s["body"], "itself, not what it stands for")
	require.Equal(t, args{"k": "v"}, s["payload"])
	require.Equal(t, []any{}, s["children"])
	wrapped := p.data(t, "export_subtree", args{"nodeId": "a/", "includeViewRoot": true})["json"].(args)
	require.Equal(t, args{"rootNodeId": "a/", "version": answer["versionToken"], "node": root}, wrapped)

	rows, err := csv.NewReader(strings.NewReader(p.data(t, "export_subtree", args{"nodeId": "a/", "format": "csv"})["text"].(string))).ReadAll()
	require.NoError(t, err)
	require.Equal(t, "nodeId uid parentId depth kind payloadType title level tags body payload.k payload.list payload.n payload.ref", strings.Join(rows[0], " "))
	require.Len(t, rows, 5)
	require.Equal(t, []string{"a/", "1", "note", "page", "One, \"1\"", "", "x, y", "Line 1,\n\"line\" 2 & 3", "", "1, two", "1", "[[a/two]]"}, rows[3][2:])

	var node struct {
		NodeID   string `xml:"nodeId"`
		Title    string `xml:"title"`
		Children []struct {
			Body  string `xml:"body"`
			Field []struct {
				Name  string `xml:"name,attr"`
				Value string `xml:",chardata"`
			} `xml:"payload>field"`
		} `xml:"children>node"`
	}
	require.NoError(t, xml.Unmarshal([]byte(p.data(t, "export_subtree", args{"nodeId": "a/", "format": "xml"})["text"].(string)), &node))
	require.Equal(t, "A <b> & \"c\"", node.Title)
	require.Equal(t, "Line 1,\n\"line\" 2 & 3", node.Children[1].Body)
	require.Equal(t, "list", node.Children[1].Field[1].Name)
	require.Equal(t, "1, two", node.Children[1].Field[1].Value)
}

// TestExportOfFiles covers the format markdown: a zip of the files as they are.
func TestExportOfFiles(t *testing.T) {
	p := open(t, awkward)
	for id, want := range map[string]map[string]string{
		"/": awkward, "a/": awkward, "a/one": {"one.md": awkward["a/one.md"]},
		"a/one#s": {"s.md": "## S\n::section(k=v)\n\n![[a/two]]\n"},
	} {
		content, err := base64.StdEncoding.DecodeString(p.data(t, "export_subtree", args{"nodeId": id, "format": "markdown"})["content_base64"].(string))
		require.NoError(t, err)
		files, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
		require.NoError(t, err)
		got := map[string]string{}
		for _, f := range files.File {
			r, err := f.Open()
			require.NoError(t, err)
			text, err := io.ReadAll(r)
			require.NoError(t, err)
			got[f.Name] = string(text)
		}
		require.Equal(t, want, got, id)
	}
}

// TestLargeExports covers that an export is one answer at most.
func TestLargeExports(t *testing.T) {
	files := map[string]string{}
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		files["large/"+name+".md"] = "# " + name + "\n\n" + strings.Repeat("All the same words, \"quoted\". ", 33_000) + "\n"
	}
	p := open(t, files)
	for _, format := range []string{"json", "csv", "xml"} {
		require.Equal(t, "BATCH_TOO_LARGE", string(p.refused(t, "export_subtree", args{"nodeId": "/", "format": format}).Code), format)
		p.data(t, "export_subtree", args{"nodeId": "large/a", "format": format})
	}
	p.data(t, "export_subtree", args{"nodeId": "/", "format": "markdown"})
}
