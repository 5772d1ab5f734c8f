package index_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/index"
)

var update = flag.Bool("update", false, "write the golden image anew")

// goldenCommits are of a small vault that has of everything: all kinds of fields and annotations,
// sections and objects in them, references, tags, days, pins, two who want the same one, what an audit
// log tells, notes that do not parse, other scripts, files that are no notes, and what moved.
func goldenCommits() []index.Commit {
	const schema = `types:
  person: {name_field: name, fields: {name: string, boss: ref, friends: "ref[]", born: date}, traits: [due]}
  task: {fields: {at: datetime, on: "date[]"}}
traits: {due: date, flag: {}, owner: ref, level: {type: number, default: 2}, seen: datetime}
`
	commits := []index.Commit{
		commit(1, ".raven/audit.log", auditTexts[1]+
			`{"ts":"2025-02-01T10:00:00Z","op":"create","entity":"trait","id":"due-1","parent":"b#s",`+
			`"trait":"due","content":"told","line":9}`+"\n"+
			`{"ts":"2025-02-02T10:00:00Z","op":"create","entity":"object","id":"later#told"}`+"\n"+
			`{"ts":"2025-02-03T10:00:00Z","op":"create","entity":"trait","id":"flag-1","parent":"later",`+
			`"trait":"flag","content":"later","line":3}`+"\n"),
		commit(2, "schema.yaml", schema, "raven.yaml", "daily_directory: days\n",
			"rookery.yaml", "language: german\n"),
		commit(3, "people/Zoë.md", "---\ntype: person\nname: Zoë Ångström\nalias: [Zo, \"[[b]]\"]\nboss: b\n"+
			"friends: [a, x/é]\nborn: 1990-01-02\ndue: 2026-03-05\nnumber: 4.5\nyes: true\nno: false\n"+
			"nothing:\nempty: []\nnested: [1, [x, [[b]], null], true]\n---\n# Zoë\n\n日本語 #tag [[b|shown]]\n"),
		commit(4, "b.md", "# Bee\n\n## S\n\n- @due(2026-03-02) @flag same [[people/Zoë]] [[nowhere]] #tag #früh\n"+
			"- @due(2026-03-02) same\n- @id(pin) @level(3) pinned\n- @unknown(x) and @owner([[a]])\n\n"+
			"## Meeting\n::task(id=one, at=2026-03-04T10:00, on=[2026-03-04, 2026-03-06], boss=[[a]], n=3)\n\n"+
			"### S\n\n- @owner([[people/Zoë]], [[b]]) @seen(2026-03-02T10:00) x\n- @level([a, \"b, c\"]) list\n"),
		commit(5, "a.md", "- @id(pin) @flag wants it too\n- @due @flag(false)\n", "days/2026-03-02.md", "[[2026-03-03]]\n",
			"broken.md", "---\na: [\n---\n@flag [[b]]\n", "x/é.md", "---\ntype: ghost\n---\n", "A.md", "other\n"),
		commit(6, "_folder.md", "---\ntype: person\n---\n", "moved.md", noteTexts[9], "b2.md", noteTexts[10]),
		commit(7, "kept/moved.md", noteTexts[9]+"more\n", "moved.md", "-"),
		commit(8, "crowded.md", "---\ntype: person\nname: Crow\n---\n# Crowded\n"+distinctTags(index.MaxThings)),
	}
	commits = append(commits, commit(9, "facets.md", "---\ntype: [task, 3]\nstatus: open\ntags: [x, \"#y\"]\nmap: {a: b}\n---\n"))
	commits = append(commits, commit(10, "out/left.md", "---\ntype: task\n---\ntext\n", "drafts/left.md", "left out @due(2026-03-02) [[b]]\n",
		"raven.yaml", "daily_directory: days\nexclude: [drafts/]\n"))
	commits = append(commits, commit(11, "projects/Big Mill/card.md", cardText))
	commits = append(commits, commit(12, "links.md", "[a](https://Example.test:443/x) ![b](../img/c.PNG) [d](mailto:e)\n\n"+
		"## S\n\n[f](file) [g](other.md) [h](doc.pdf#p)\n"))
	commits = append(commits, commit(13, "rookery.yaml", "language: german\nweek_start: sunday\n"))
	commits[6].Changes[0].From = "moved.md"
	return commits
}

// cardText is a note whose card has everything.
const cardText = "---\ntitle: The Card\ndate: 2026-03-01\nupdated: \"2026-03-02\"\ntags: [On Call, x]\nproject: \"\"\n" +
	"causal_chain_id: Queue Choice\nepisode_id: 7\nentity: \"Alice, Bob\"\nkind: approval_log\nsummary: In short\n" +
	"network: base\nwallet_address: \"0xA\"\npayment_status: Paid\n---\n"

// distinctTags is a text with so many tags.
func distinctTags(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "#t%d\n", i)
	}
	return b.String()
}

// answers are what an index says, as a text that a person can compare.
func answers(x *index.Index) string {
	var b strings.Builder
	m := imageOf(x)
	m.Files, m.Notes, m.Traits = nil, nil, nil
	sums, _ := json.MarshalIndent(m, "", " ")
	fmt.Fprintf(&b, "%s\n%s\n", sums, x.Time())
	for f := range x.Files() {
		fmt.Fprintf(&b, "\n%s: %d %x %v %d\n", f.Path, f.Size, f.Digest, f.Body, f.Version)
		if f.Note != nil {
			describe(&b, f.Note)
		}
		if f.Hidden != nil {
			fmt.Fprint(&b, "hidden: ")
			describe(&b, f.Hidden)
		}
	}
	return b.String()
}

func describe(b *strings.Builder, n *index.Note) {
	fmt.Fprintf(b, "%q is %q: %q %q %d %d %d\n", n.DeclaredType, n.Type, n.Title, n.TitleSlug,
		n.LineCount(), n.BodyStart(), n.BodyLine())
	if n.Unindexed() > 0 {
		fmt.Fprintln(b, "not indexed", n.Unindexed())
	}
	fmt.Fprintln(b, n.Created, n.Modified, n.Quarantine(), "units", n.Units())
	if n.Excluded {
		fmt.Fprintln(b, "excluded")
	}
	for _, f := range n.Fields {
		fmt.Fprintf(b, "field %T %#v\n", f.Value, f)
	}
	fmt.Fprintf(b, "node %s %d %v\n", n.UID, n.BodyBytes, n.Embeds)
	for _, s := range n.Sections {
		fmt.Fprintf(b, "node %s %v %d %d %v\n", s.UID, s.Top, s.TopParent, s.BodyBytes, s.Embeds)
		fmt.Fprintf(b, "section %q %q %q %q %d %d %d %d %v\n", s.Slug, s.Title, s.DeclaredType(), s.Type(),
			s.Parent(), s.Line(), s.LineEnd(), s.SubtreeEnd(), *s.Times)
		for _, f := range s.Fields() {
			fmt.Fprintf(b, "  field %T %#v\n", f.Value, f)
		}
	}
	for _, t := range n.EachAnnotation {
		fmt.Fprintf(b, "@%s %q %#v %v at %d:%d in %d, %s, pin %q %v: %q %q %v\n", t.Type, t.Raw, t.Value(),
			t.Defined, t.Line(), t.Position(), t.Scope(), t.ID, t.Pin(), t.Pinned(), t.Content, t.ContentText(), *t.Times)
	}
	for _, r := range n.Refs {
		fmt.Fprintf(b, "[[%s|%s]] %+v\n", r.Target, r.Display,
			[]any{r.Field(), r.Line(), r.Position(), r.Scope(), r.InField, r.Bare})
	}
	for _, l := range n.Links {
		fmt.Fprintf(b, "link {Target:%s Display:%s Image:%v Scheme:%s Ext:%s Scope:%d Line:%d Span:%+v} %q\n",
			l.Target, l.Display, l.Image, l.Scheme, l.Ext, l.Scope, l.Line, l.Span, l.Key(n))
	}
	fmt.Fprintf(b, "tags %v\n", n.Tags)
	if f := n.Facets(); f != nil {
		fmt.Fprintf(b, "facets %q %q %q %q\n", f.Fields, f.Tags, f.Types, f.Statuses)
	}
	c := n.Card()
	fmt.Fprintf(b, "card %q %q %q %q %q %q %q %q %q %q %q %q %q %q\n", c.Title, n.Project(), c.Tags, c.Date, c.Words,
		c.Updated(), c.Chain(), c.Episode(), c.Entities(), c.Kind(), c.Network(), c.WalletAddress(), c.PaymentStatus(),
		c.TagsAsWritten())
}

// TestTheGoldenImage says that images stay what they are as long as their format has the same number.
func TestTheGoldenImage(t *testing.T) {
	x := index.Build(slices.Values(goldenCommits()))
	image := x.AppendImage(nil)
	file, answered := fmt.Sprintf("testdata/image-%d.bin", index.ImageFormat),
		fmt.Sprintf("testdata/image-%d.txt", index.ImageFormat)
	if *update {
		require.NoError(t, os.WriteFile(file, image, 0o644))
		require.NoError(t, os.WriteFile(answered, []byte(answers(x)), 0o644))
	}
	golden, err := os.ReadFile(file)
	require.NoError(t, err)
	want, err := os.ReadFile(answered)
	require.NoError(t, err)
	y, err := index.ReadImage(slices.Clone(golden))
	require.NoError(t, err)
	require.Equal(t, string(want), answers(y), "the golden image must answer what it always did")
	require.Equal(t, imageOf(x), imageOf(y))
	if !bytes.Equal(golden, image) {
		t.Fatalf("the image of the golden vault is another than that in %s: what changes the bytes of "+
			"images, or what an index makes of a text, raises index.ImageFormat, keeps a reader of the one "+
			"before in the tests, and writes a golden image of its own with -update", file)
	}
}
