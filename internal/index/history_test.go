package index_test

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/vault"
)

// An image is all that an index can be asked, so that two can be compared.
type image struct {
	Version     uint64
	Totals      index.Totals
	Files       []index.File
	Notes       []index.Note
	Rows        []string `json:"-"`
	Hidden      []string
	Traits      []index.Trait // all annotations, in order
	Objects     map[string][]string
	ByTrait     map[string][]string
	Links       map[string][]string
	Resolved    map[string]index.Resolution
	Tags        map[string][]string
	Counts      map[string]int
	Dates       []string
	Times       [][]string
	Broken      []string
	Duplicates  []string
	Untyped     []string
	Quarantined []string
	Folded      map[string]string
	SchemaErr   string
	ConfigErr   string
	Daily       string
	Folders     []string
	Nodes       []string
	Changed     uint64
}

// typeNames are all that the notes and schemas of histories know; so are the others.
var (
	typeNames  = []string{"", "page", "daily", "date", "person", "task", "ghost", "section"}
	traitNames = []string{"", "due", "flag", "owner", "level"}
	refNames   = []string{
		"a", "A", "b", "x/a", "bee", "Bee", "The Bee", "s", "T", "t", "one", "x/é", "2026-03-02",
		"daily/2026-03-02", "2026-03-02#s", "x/2026-03-02", "a#s", "a#one", "b#s-2", "2026-09-09", "#s",
	}
)

// imageOf asks an index everything.
func imageOf(x *index.Index) image {
	m := image{
		Version: x.Version(), Totals: x.Totals(), Daily: x.Config().DailyDirectory,
		Counts: map[string]int{}, Folded: map[string]string{},
		SchemaErr: fmt.Sprint(x.SchemaErr()), ConfigErr: fmt.Sprint(x.ConfigErr()),
		Quarantined: paths(x.Quarantined()), Untyped: paths(x.Untyped("")),
		Times: [][]string{
			paths(x.Created(time.Time{}, time.Time{})), paths(x.Modified(time.Time{}, time.Time{})),
		},
	}
	for f := range x.Files() {
		flat := *f
		flat.Note, flat.Hidden = nil, nil
		if f.Hidden != nil {
			m.Hidden = append(m.Hidden, fmt.Sprintf("%s %s %s %s %s", f.Path, f.Hidden.Type, f.Hidden.TraitIDs(),
				f.Hidden.Created, f.Hidden.Modified))
		}
		m.Files = append(m.Files, flat)
		m.Folded[f.Path], _ = x.Folded(vault.Fold(f.Path))
	}
	for n := range x.Notes("") {
		flat := *n
		flat.File, flat.Annotations = nil, nil
		m.Notes = append(m.Notes, flat)
		for _, t := range n.EachAnnotation {
			trait, place := *t, *t.Place
			place.Note, trait.Place = nil, &place
			m.Traits = append(m.Traits, trait)
		}
	}
	for r := range x.Rows("") {
		day, _ := r.DayBegins()
		m.Rows = append(m.Rows, fmt.Sprintf("%s %x %s %t", r.Path, r.Marks, day, r.Note == noteAt(x, r.Path)))
	}
	m.askObjects(x)
	m.askTraits(x)
	m.askLinks(x)
	m.askNodes(x)
	return m
}

// askNodes asks for the nodes, each by its UID, and for the folders.
func (m *image) askNodes(x *index.Index) {
	m.Changed = x.NotesVersion()
	folder := func(dir string) {
		f, _ := x.Folder(dir)
		uid := x.FolderUID(dir)
		at, ok := x.NodeFolder(uid)
		m.Folders = append(m.Folders, fmt.Sprintf("%s v%d %t %t %q", dir, x.FolderVersion(dir), ok && at == dir,
			f != nil, x.FolderType(dir)))
		m.Nodes = append(m.Nodes, dir+" "+uid.String())
		if f != nil {
			m.Nodes = append(m.Nodes, fmt.Sprintf("%s %d %q", f.UID, f.BodyBytes, f.Order()))
		}
	}
	folder("")
	for dir := range x.FolderPaths("") {
		folder(dir)
	}
	for f := range x.Files() {
		for _, uid := range f.NodeIDs() {
			o, _ := x.Node(uid)
			where := f.Path
			if o.Note != nil {
				where = o.ID()
			}
			m.Nodes = append(m.Nodes, where+" "+uid.String())
		}
	}
}

func noteAt(x *index.Index, path string) *index.Note {
	n, _ := x.Note(path)
	return n
}

func (m *image) askObjects(x *index.Index) {
	m.Objects, m.Tags = map[string][]string{}, map[string][]string{}
	for _, name := range typeNames {
		m.Objects[name] = objectIDs(x.Objects(name, index.Location{}))
		m.Objects["notes of "+name] = paths(x.OfType(name, ""))
		m.Counts[name] = x.Count(name)
	}
	for tag, n := range x.Tags() {
		m.Counts["#"+tag] = n
		for in := range x.Tagged(tag, "") {
			m.Tags[tag] = append(m.Tags[tag], fmt.Sprint(in.Note.Path, in.Tag))
		}
	}
	for d := range x.Dates("0001-01-01", "9999-12-31") {
		m.Dates = append(m.Dates, dated(d))
	}
}

func dated(d index.DateMention) string {
	s := string(d.Day) + " " + d.Object.ID() + " " + d.Field
	if d.Trait != nil {
		s += " " + d.Trait.ID
	}
	return s
}

func (m *image) askTraits(x *index.Index) {
	m.ByTrait = map[string][]string{}
	for _, name := range traitNames {
		m.ByTrait[name] = traitIDs(x.Traits(name, index.Location{}))
		m.ByTrait["range of "+name] = traitIDs(x.TraitsBetween(name, "", "", anyValue).After(index.Location{}))
		m.ByTrait["a with "+name] = traitIDs(x.TraitsWith(name, "a").After(index.Location{}))
		m.Counts["@"+name] = x.TraitCount(name)
	}
	m.Duplicates = traitIDs(x.Duplicates)
}

func (m *image) askLinks(x *index.Index) {
	m.Links, m.Resolved = map[string][]string{}, map[string]index.Resolution{}
	for _, ref := range refNames {
		r := x.Resolve(ref)
		for l := range x.Resolver().Backlinks(r.ID, index.Location{}) {
			m.Links[ref] = append(m.Links[ref], link(l))
		}
		r.Object = index.Object{}
		m.Resolved[ref] = r
	}
	for l := range x.Resolver().Broken(index.Location{}) {
		m.Broken = append(m.Broken, link(l))
	}
}

// link renders a reference.
func link(l index.Link) string {
	return fmt.Sprintf("%s:%d %s→%s", l.Source.ID(), l.Ref.Line(), l.Ref.Target, l.To.ID)
}

func objectIDs(objects iter.Seq[index.Object]) []string {
	all := []string{}
	for o := range objects {
		all = append(all, o.ID())
	}
	return all
}

func traitIDs(traits iter.Seq[*index.Trait]) []string {
	all := []string{}
	for t := range traits {
		all = append(all, t.ID)
	}
	return all
}

// filePaths and their texts are few, so that histories meet themselves again.
var (
	filePaths = []string{
		"a.md", "A.md", "b.md", "x/a.md", "x/é.md", "x/e\u0301.md", "daily/2026-03-02.md",
		"daily/old/2026-03-02.md", "x/2026-03-02.md", ".trash/a.md", "_folder.md", "x/_folder.md",
	}
	noteTexts = []string{
		"", "plain\n", "---\ntype: person\nname: x\n---\n# T\n\n## S\n", "---\ntype: task\n---\n",
		"---\ntype: ghost\n---\n## S\n### S\n", "---\ntype: date\n---\n", "---\ntype: daily\n---\n",
		"---\ntype: person\nname: Bee\nalias: The Bee\nboss: a\nborn: 2026-03-02\ndue: 2026-03-05\n---\n",
		"- @due(2026-03-02) same\n- @due(2026-03-03) same\n- @flag #tag [[b]]\n",
		"- @due(2026-03-02) same\n- @flag [[b|x]] [[x/a]] [[s]] [[2026-03-02]]\n- @due(2026-03-04) same\n",
		"## One\n::person(id=one, boss=a, name=Bee)\n- @id(pin) @due(2026-03-02) pinned\n\n## S\n## S\n@owner([[a]])",
		"- @id(pin) @flag first\n- @level(3) @id(pin) x\n- @id(two) @owner([[Bee]])\n",
		"# T\n\n- @id(two) @unknown @flag x\n- @due(2026-03-02) same\n#tag #Tag [[a#s]] [[#s]]\n## S\n- @flag(false)\n",
		"---\ntags: [tag, other]\ntype: task\n---\n- @due same\n\n\n- @due other text\n- [[one]] [[The Bee]]\n",
		"---\na: [\n---\nbroken [[b]] @flag", "---\ntype: [x]\n---\n", "---\ntype: section\n---\n",
		"---\norder: [b, x/]\ntype: person\ntitle: F\n---\n## A\n\na\n\n> ## Q\n\n### B\n![[a]]\n\n## A\n",
		"## B\n\nb\n\n## A\n\na\n\n## C\n::person(id=one)\n",
	}
	schemaTexts = []string{
		"", "types: {person: {}}\n", "types: {task: {}, person: {}}\n", "types: {daily: {}}\n", "types: [",
		"types: {person: {fields: {boss: ref, born: date, name: string}, traits: [due]}}\n" +
			"traits: {due: date, flag: {}, owner: ref, level: number}\n",
		"types: {person: {fields: {boss: string}}}\ntraits: {due: {type: string, default: a}, flag: {}}\n",
		"traits: {unknown: {}, owner: string, level: {type: enum, values: [a]}}\n",
	}
	configTexts = []string{"", "daily_directory: x\n", "daily_directory: daily/old\n", "a: [\n",
		"exclude: ['*a*', '!daily/']\n", "exclude: [x/, /b.md]\n", "deletion: {trash_dir: x}\n"}
	auditTexts = []string{
		`{"ts":"2025-01-01T00:00:00Z","op":"create","entity":"object","id":"a"}` + "\n",
		`{"ts":"2025-01-02T00:00:00Z","op":"create","entity":"object","id":"b"}` + "\n" +
			`{"ts":"2025-01-03T00:00:00Z","op":"delete","entity":"object","id":"a"}` + "\n",
	}
)

// history draws a list of commits. Some move a file, some carry the ids of traits.
func history(t *rapid.T) []index.Commit {
	var commits []index.Commit
	x := index.Empty()
	for seq := range rapid.IntRange(1, 12).Draw(t, "commits") {
		var pairs []string
		for range rapid.IntRange(1, 5).Draw(t, "changes") {
			pairs = append(pairs, draw(t)...)
		}
		c := commit(uint64(seq+1), pairs...)
		if rapid.IntRange(0, 3).Draw(t, "moves") == 0 {
			c.Changes[0].From = rapid.SampledFrom(filePaths).Draw(t, "from")
			c.Changes = append(c.Changes, index.Change{Path: c.Changes[0].From, Deleted: true})
		}
		x = x.With(c)
		if rapid.Bool().Draw(t, "keeps ids") {
			keepIDs(x, c)
		}
		commits = append(commits, c)
	}
	return commits
}

// keepIDs writes into a commit the ids that it led to, as the log does.
func keepIDs(x *index.Index, c index.Commit) {
	for i, ch := range c.Changes {
		if n, ok := x.Note(ch.Path); ok && n.Digest == index.DigestOf(ch.Text) {
			c.Changes[i].TraitIDs = n.TraitIDs()
		}
		if f, ok := x.File(ch.Path); ok && f.Digest == index.DigestOf(ch.Text) {
			c.Changes[i].Nodes = f.NodeIDs()
		}
	}
}

// draw draws a path and its text.
func draw(t *rapid.T) []string {
	path, texts := rapid.SampledFrom(filePaths).Draw(t, "path"), noteTexts
	switch rapid.IntRange(0, 9).Draw(t, "kind") {
	case 0:
		path, texts = vault.SchemaFile, schemaTexts
	case 1:
		path, texts = vault.ConfigRaven, configTexts
	case 2:
		paths := []string{vault.AuditLog, vault.ClosedAudit("2025-01"), vault.ClosedAudit("2025-02")}
		return []string{
			rapid.SampledFrom(paths).Draw(t, "log"), rapid.SampledFrom(auditTexts).Draw(t, "audit"),
		}
	}
	return []string{path, rapid.SampledFrom(append([]string{"-"}, texts...)).Draw(t, "text")}
}

// TestBuildIsAFoldOfWith also says that an index stays as it was when others are made of it.
func TestBuildIsAFoldOfWith(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		commits := history(t)
		all, images := []*index.Index{index.Empty()}, []image{imageOf(index.Empty())}
		for _, c := range commits {
			x := all[len(all)-1].With(c)
			all, images = append(all, x), append(images, imageOf(x))
		}
		for i, x := range all {
			require.Equal(t, images[i], imageOf(x), "version %d did not stay as it was", i)
			require.Equal(t, images[i], imageOf(index.Build(slices.Values(commits[:i]))))
		}
	})
}

// TestABuilderGoesOn from any index, which stays as it was.
func TestABuilderGoesOn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		commits := history(t)
		begun := rapid.IntRange(0, len(commits)).Draw(t, "begun")
		x := index.Build(slices.Values(commits[:begun]))
		before, b := imageOf(x), index.NewBuilder(x)
		for _, c := range commits[begun:] {
			b.Add(c)
		}
		require.Equal(t, imageOf(index.Build(slices.Values(commits))), imageOf(b.Index()))
		require.Equal(t, before, imageOf(x))
	})
}

// TestALongHistory is read ahead in full.
func TestALongHistory(t *testing.T) {
	var commits []index.Commit
	x := index.Empty()
	for i := range 200 {
		path, text := filePaths[i%len(filePaths)], noteTexts[i%len(noteTexts)]
		commits = append(commits, commit(uint64(i+1), path, text, "many.md", noteTexts[(i+1)%len(noteTexts)]))
		x = x.With(commits[i])
	}
	require.Equal(t, imageOf(x), imageOf(index.Build(slices.Values(commits))))
}

// TestSameFilesSameIndex says that the index follows from the files, whatever came before: but for
// versions, times, and where a text is kept.
func TestSameFilesSameIndex(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := index.Build(slices.Values(history(t)))
		y := index.Build(oneCommit(x))
		a, b := timeless(imageOf(x)), timeless(imageOf(y))
		require.Equal(t, a, b)
	})
}

// TestExcludedThereAndBack says that notes which patterns hide, and then no longer, are as they were never hidden:
// with their ids and times.
func TestExcludedThereAndBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := index.Build(slices.Values(history(t)))
		before, text := x.Version(), "-"
		if f, ok := x.File(vault.ConfigRaven); ok {
			text = textsByDigest()[f.Digest]
		}
		all := x.With(commit(before+1, vault.ConfigRaven, "exclude: ['*']\n"))
		require.Zero(t, all.Totals(), "no note")
		again, err := index.ReadImage(all.AppendImage(nil))
		require.NoError(t, err)
		back := again.With(commit(before+2, vault.ConfigRaven, text))
		require.Equal(t, unversioned(imageOf(x)), unversioned(imageOf(back)))
	})
}

// unversioned is an image without its version and that of raven.yaml.
func unversioned(m image) image {
	m.Version = 0
	for i := range m.Files {
		if m.Files[i].Path == vault.ConfigRaven {
			m.Files[i].Version, m.Files[i].Body = 0, index.Body{}
		}
	}
	return m
}

// texts of the files, by digest.
func textsByDigest() map[index.Digest]string {
	all := map[index.Digest]string{}
	for _, list := range [][]string{noteTexts, schemaTexts, configTexts, auditTexts} {
		for _, text := range list {
			all[index.DigestOf([]byte(text))] = text
		}
	}
	return all
}

// oneCommit brings all files of an index at once.
func oneCommit(x *index.Index) iter.Seq[index.Commit] {
	texts := textsByDigest()
	var pairs []string
	for f := range x.Files() {
		pairs = append(pairs, f.Path, texts[f.Digest])
	}
	return slices.Values([]index.Commit{commit(1, pairs...)})
}

// timeless is an image without what history leaves in it: times, and ids of traits.
func timeless(m image) image {
	m.Version, m.Times, m.Duplicates = 0, nil, nil
	m.Folders, m.Nodes, m.Changed = nil, nil, 0
	for i, s := range m.Hidden {
		m.Hidden[i] = strings.Fields(s)[0]
	}
	for i := range m.Files {
		m.Files[i].Version, m.Files[i].Body = 0, index.Body{}
		if f := m.Files[i].Folder; f != nil {
			plain := *f
			plain.UID, plain.Created, plain.Modified = index.UID{}, start, start
			m.Files[i].Folder = &plain
		}
	}
	for i := range m.Notes {
		n := &m.Notes[i]
		n.Created, n.Modified, n.UID = start, start, index.UID{}
		n.Sections = slices.Clone(n.Sections)
		for j := range n.Sections {
			n.Sections[j].Times, n.Sections[j].UID = nil, index.UID{}
		}
	}
	for i := range m.Traits {
		m.Traits[i].ID, m.Traits[i].Times = "", nil
	}
	for name, ids := range m.ByTrait {
		m.ByTrait[name] = make([]string, len(ids))
	}
	for i, s := range m.Dates {
		words := strings.Fields(s)
		m.Dates[i] = strings.Join(words[:3], " ")
	}
	return m
}
