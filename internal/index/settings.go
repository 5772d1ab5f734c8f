package index

import (
	"strings"

	"github.com/rookeryhq/rookery/internal/vault"
)

// settings are the parsed contents of the vault's own files: schema.yaml, raven.yaml and
// rookery.yaml, and settings of Obsidian. They are immutable, except for dailyFolder and the schema
// that follows it, which findDailyFolder sets. Each Index has a copy, so every state of the vault is
// read with the settings of its time.
type settings struct {
	schema    *vault.Schema
	schemaErr error
	config    vault.Config
	configErr error
	exclusion *vault.Exclusion // the notes that are excluded from orientation
	hiding    *vault.Exclusion // the notes that are mere files
	texts     settingTexts

	dailyFolder string // spelling of the folder of daily notes; "" for that in config
}

// settingTexts are the texts of the files with settings. They are small. All of them are kept,
// because raven.yaml and rookery.yaml are parsed together.
type settingTexts struct{ schema, raven, rookery, obsidianDaily, obsidianTemplates string }

// with returns the texts after a change of a file. A change of any other file returns t unchanged,
// so a commit changes the settings if and only if the result differs.
func (t settingTexts) with(ch Change) settingTexts {
	text := &t.schema
	switch ch.Path {
	case vault.SchemaFile:
	case vault.ConfigRaven:
		text = &t.raven
	case vault.ConfigRookery:
		text = &t.rookery
	case vault.ObsidianDaily:
		text = &t.obsidianDaily
	case vault.ObsidianTemplates:
		text = &t.obsidianTemplates
	default:
		return t
	}
	// A deleted file has the same meaning as an empty one.
	if *text = string(ch.Text); ch.Deleted {
		*text = ""
	}
	return t
}

// read returns the settings in the texts. A file that does not parse has its defaults, and the
// error is stored.
func (s settings) read(t settingTexts) settings {
	s.texts = t
	s.config, s.configErr = vault.ParseConfig([]byte(t.raven), []byte(t.rookery))
	s.config = s.config.WithObsidian([]byte(t.obsidianDaily), []byte(t.obsidianTemplates))
	s.exclusion = vault.NewExclusion(s.config.Exclude)
	s.hiding = s.config.Hiding()
	s.schema, s.schemaErr = vault.ParseSchema([]byte(t.schema))
	// A schema that does not parse counts as empty: only the built-in types remain.
	if s.schemaErr != nil {
		s.schema = vault.NewSchema()
	}
	s.schema = s.schema.WithFolders(s.config)
	return s
}

// Schema returns the schema of the vault. If schema.yaml does not parse, it has only the built-in
// types.
func (x *Index) Schema() *vault.Schema { return x.schema }

// SchemaErr returns the error of parsing schema.yaml, nil if it parses.
func (x *Index) SchemaErr() error { return x.schemaErr }

// Config returns the configuration of the vault, with the defaults for a file that does not parse.
// Its DailyDirectory has the spelling that the vault uses.
func (x *Index) Config() vault.Config {
	c := x.config
	if x.dailyFolder != "" {
		c.DailyDirectory = x.dailyFolder
	}
	return c
}

// findDailyFolder finds the spelling of the folder of daily notes, and makes it the default path of
// their type. Without it, a configured `daily` would create a second folder beside an existing
// `Daily`, which is the same folder on some file systems.
func (x *Index) findDailyFolder() {
	x.dailyFolder = x.spelledDailyFolder()
	x.schema = x.schema.WithFolders(x.Config())
}

// spelledDailyFolder returns the spelling of the folder of daily notes if it is not that of the
// configuration: that of a folder that differs only in case, if the configured one contains no
// notes.
func (x *Index) spelledDailyFolder() string {
	want := x.config.DailyDirectory
	if want == "" || want == vault.Root || x.count(inFolder, want) > 0 {
		return ""
	}
	found := ""
	for segment := range strings.SplitSeq(want, "/") {
		next, ok := x.folderLike(found, segment)
		if !ok {
			return ""
		}
		found = next
	}
	return found
}

// folderLike returns the folder in a folder with a name, ignoring case. An exact match is
// preferred. in is the path of the folder, "" for the vault. ok is false if no such folder contains
// notes.
func (x *Index) folderLike(in, name string) (path string, ok bool) {
	if in != "" {
		in += "/"
	}
	if x.count(inFolder, in+name) > 0 {
		return in + name, true
	}
	for folder := range x.FoldersIn(strings.TrimSuffix(in, "/")) {
		if vault.Fold(folder[len(in):]) == vault.Fold(name) {
			return folder, true
		}
	}
	return "", false
}

// ConfigErr returns the error of parsing raven.yaml or rookery.yaml, nil if both parse.
func (x *Index) ConfigErr() error { return x.configErr }

// typeOf returns the type of a note in the schema. A daily note that declares no type has the type
// vault.Daily, unless it is quarantined. A template, and a note whose type the schema does not
// know, is a page (reference/raven.md §1.3, §6.5).
func (s settings) typeOf(n *Note) string {
	if n.isTemplate(s.config) {
		return vault.Page
	}
	if n.DeclaredType != "" {
		return s.schemaType(n.DeclaredType)
	}
	if _, daily := s.config.IsDaily(vault.Path(n.Path)); daily && n.Quarantine() == nil {
		return vault.Daily
	}
	return vault.Page
}

// isTemplate reports whether a note is a template, and therefore not an object.
func (n *Note) isTemplate(c vault.Config) bool { return c.IsTemplate(vault.Path(n.Path)) }

// schemaType returns the type in the schema for a declared type; page if there is none. The type
// section is not possible for a note.
func (s settings) schemaType(declared string) string {
	if t, ok := s.schema.Type(declared); ok && t.Name != vault.Section {
		return t.Name
	}
	return vault.Page
}
