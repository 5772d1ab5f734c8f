package vault

import (
	"regexp"
	"strings"
	"time"
	_ "time/tzdata" // so that a zone means the same where the system has no database

	"go.yaml.in/yaml/v4"

	"github.com/rookeryhq/rookery/internal/fault"
)

// settingWord matches a text that YAML reads as that text without quotes.
var settingWord = regexp.MustCompile(`^[A-Za-z][A-Za-z_+/-]*[A-Za-z0-9]$`)

// DefaultDaily is the folder of daily notes if the vault does not configure one.
const DefaultDaily = "daily"

// A Config is the configuration of a vault. The zero Config is not valid; ParseConfig(nil, nil)
// returns the defaults. A Config does not change after it was parsed, and can be shared by
// goroutines.
//
// Two files contain it. raven.yaml has the settings that Raven also knows, and rookery.yaml those
// of Rookery, so that a vault can be used with both programs:
//
//	daily_directory: journal
//	directories: { type: objects, page: pages, template: templates }
//	capture: { destination: inbox.md, heading: Inbox, timestamp: true }
//	deletion: { behavior: trash, trash_dir: .trash }
//	exclude: [drafts/]
//	protected_prefixes: [archive/]
//	queries: { … }
//
//	timezone: Europe/Vienna
//	week_start: monday
//	language: german
//	tree: { versioning: notes, rulesets: { … } }
//
// The guide (docs/guide/vaults.md) describes every key.
type Config struct {
	DailyDirectory string // without a trailing slash; Root is the vault itself
	DailyTemplate  string // deprecated: the initial text of daily notes, or a path to it
	Directories    Directories
	Capture        Capture
	Deletion       Deletion
	Exclude        []string // patterns of notes that are treated as other files; see Hiding
	Protected      []string // prefixes of paths that are read only
	Queries        []Query  // in the order of the file

	Timezone  string // an IANA name
	Zone      *time.Location
	WeekStart time.Weekday
	Language  string // one of Languages: the main language of the notes

	Tree Tree

	dailyIsSet bool // raven.yaml sets DailyDirectory
}

// Directories are the folders of objects, of untyped notes and of templates. Each ends in a slash,
// or is "" if it is not configured. Then objects and pages are in folders relative to the root, and
// no note is a template, unless WithObsidian finds a folder of templates.
type Directories struct{ Type, Page, Template string }

// A Capture is the configuration of quick notes: the note to which they are appended, the heading
// of a daily note under which, and whether the time precedes the text.
type Capture struct {
	Destination string // "daily", or a path
	Heading     string
	Timestamp   bool
}

// A Deletion is the configuration of deleted notes. Rookery always moves them to its own trash; it
// parses these settings of Raven to report them, and to exclude the files in Raven's trash folder.
type Deletion struct {
	Behavior string // "trash" or "permanent"
	TrashDir string
}

// A Query is a saved query. It is either a text in the query language (Query), with the names of
// its arguments, or the older lists of types, traits, filters and tags, all of which a result must
// match.
type Query struct {
	Name        string
	Description string
	Query       string
	Args        []string

	Types   []string
	Traits  []string
	Filters map[string]string // trait → value
	Tags    []string
}

// Clock returns the clock of the vault at a time. The tools of one call use one Clock, so that
// `today` is the same day in all parts of an answer.
func (c Config) Clock(now time.Time) Clock { return Clock{now, c.Zone, c.WeekStart} }

// ParseConfig parses a raven.yaml of any Raven version and a rookery.yaml; either may be nil. Keys
// that only Raven uses are ignored. Invalid values are reported together as SCHEMA_ERROR, with file
// and line; the returned Config is usable and has the default in place of each. So a vault with a
// mistake in its settings can still be read.
func ParseConfig(raven, rookery []byte) (Config, error) {
	c := Config{
		DailyDirectory: DefaultDaily, Capture: Capture{Destination: DefaultDaily},
		Deletion: Deletion{Behavior: "trash", TrashDir: ".trash"},
		Timezone: "UTC", Zone: time.UTC, WeekStart: time.Monday,
		Language: DefaultLanguage,
	}
	p := &configParser{reader{file: ConfigRaven}, &c}
	for _, e := range p.entries(p.root(raven), "the file") {
		p.raven(e)
	}
	p.file = ConfigRookery
	for _, e := range p.entries(p.root(rookery), "the file") {
		p.rookery(e)
	}
	return c, p.err()
}

// A configParser parses the two files into a Config. Each of its methods parses one key, reports
// what is invalid, and leaves the default in the Config then.
type configParser struct {
	reader
	c *Config
}

// raven parses one entry of raven.yaml. Other keys are ignored, because Raven has settings of its
// own in the file, and newer versions have more.
func (p *configParser) raven(e pair) {
	switch e.key {
	case "daily_directory":
		p.daily(e)
	case "directories":
		for _, d := range p.entries(e.value, e.key) {
			p.directory(d)
		}
	case "daily_template":
		p.c.DailyTemplate = p.text(e)
	case "capture":
		p.capture(e)
	case "deletion":
		p.deletion(e)
	case "exclude":
		p.exclude(e)
	case "protected_prefixes":
		p.c.Protected = p.list(e)
	case "queries":
		for _, q := range p.entries(e.value, e.key) {
			p.c.Queries = append(p.c.Queries, p.query(q))
		}
	}
}

// rookery parses one entry of rookery.yaml.
func (p *configParser) rookery(e pair) {
	switch e.key {
	case "timezone":
		p.zone(e)
	case "week_start":
		if day, ok := parseWeekday(p.text(e)); ok {
			p.c.WeekStart = day
			return
		}
		p.report(e.line, "%s", badWeekStart)
	case "language":
		if name, ok := ParseLanguage(p.text(e)); ok {
			p.c.Language = name
			return
		}
		p.report(e.line, "%s", badLanguage())
	case "tree":
		p.tree(e)
	}
}

// maxExclude is the maximum number of patterns in exclude. It is bounded because each one is
// compared with each path.
const maxExclude = 1000

// exclude parses `exclude`, a list of gitignore patterns. An invalid pattern is reported with its
// number, from 1, and left out. The patterns after the first maxExclude are left out too.
func (p *configParser) exclude(e pair) {
	all := p.list(e)
	if len(all) > maxExclude {
		p.report(e.line, "exclude has more than %d patterns", maxExclude)
		all = all[:maxExclude]
	}
	for i, text := range all {
		if _, problem := newExclusionRule(text); problem != "" {
			p.report(e.line, "pattern %d of exclude cannot be read: %s", i+1, problem)
			continue
		}
		p.c.Exclude = append(p.c.Exclude, text)
	}
}

// daily parses the folder of the daily notes. An empty value, and an invalid one, which it reports,
// keeps the default.
func (p *configParser) daily(e pair) {
	if e.value != nil && isRoot(e.value.Value) {
		p.c.DailyDirectory, p.c.dailyIsSet = Root, true
		return
	}
	if dir := strings.TrimSuffix(p.folder(e), "/"); dir != "" {
		p.c.DailyDirectory, p.c.dailyIsSet = dir, true
	}
}

// isRoot reports whether a text denotes the root folder of the vault.
func isRoot(s string) bool { return s == "." || s == "./" || s == "/" }

// directory parses one entry of `directories`. Names in the singular and in the plural are
// accepted. The folder of daily notes can be set here or as daily_directory; the later one in the
// file wins.
func (p *configParser) directory(e pair) {
	d := &p.c.Directories
	switch e.key {
	case "daily":
		p.daily(e)
	case "type", "types":
		d.Type = p.folder(e)
	case "page", "pages":
		d.Page = p.folder(e)
	case "template", "templates":
		d.Template = p.folder(e)
	case "object", "objects":
		p.report(e.line, "directories has no key %q; the folder of objects is \"type\"", e.key)
	}
}

// capture parses `capture`. The destination is not checked: it is `daily` or the path of a note,
// and the tool that writes to it reports an invalid one.
func (p *configParser) capture(e pair) {
	for _, d := range p.entries(e.value, e.key) {
		switch d.key {
		case "destination":
			if s := p.text(d); s != "" {
				p.c.Capture.Destination = s
			}
		case "heading":
			p.c.Capture.Heading = p.text(d)
		case "timestamp":
			p.c.Capture.Timestamp = p.flag(d)
		}
	}
}

// deletion parses `deletion`. An invalid behavior is reported and keeps the default, `trash`.
func (p *configParser) deletion(e pair) {
	for _, d := range p.entries(e.value, e.key) {
		s := p.text(d)
		switch {
		case d.key == "trash_dir" && s != "":
			p.c.Deletion.TrashDir = s
		case d.key == "behavior" && (s == "trash" || s == "permanent"):
			p.c.Deletion.Behavior = s
		case d.key == "behavior":
			p.report(d.line, "deletion behavior must be trash or permanent")
		}
	}
}

// query parses a saved query. A scalar is a text in the query language; a mapping has the query as
// a text, or the lists of older versions. The language is not parsed here, so an invalid query is
// reported only when it runs.
func (p *configParser) query(e pair) Query {
	q := Query{Name: e.key}
	if e.value.Kind == yaml.ScalarNode && e.value.ShortTag() != "!!null" {
		q.Query = e.value.Value
		return q
	}
	for _, d := range p.entries(e.value, "query "+e.key) {
		switch d.key {
		case "description":
			q.Description = p.text(d)
		case "query":
			q.Query = p.text(d)
		case "args":
			q.Args = p.list(d)
		case "types":
			q.Types = p.list(d)
		case "traits":
			q.Traits = p.list(d)
		case "tags":
			q.Tags = p.list(d)
		case "filters":
			q.Filters = p.filters(d)
		}
	}
	return q
}

// filters parses the filters of a saved query: a mapping from traits to the values that they must
// have.
func (p *configParser) filters(e pair) map[string]string {
	filters := map[string]string{}
	for _, d := range p.entries(e.value, e.key) {
		filters[d.key] = p.text(d)
	}
	return filters
}

// zone parses `timezone`.
func (p *configParser) zone(e pair) {
	s := p.text(e)
	zone, ok := loadZone(s)
	if !ok {
		p.report(e.line, "%s", badZone)
		return
	}
	p.c.Timezone, p.c.Zone = s, zone
}

// Messages of invalid settings, which Settings.Check and the parser share.
const (
	badZone      = "timezone must be an IANA name, such as UTC or Europe/Vienna"
	badWeekStart = "week_start must be the English name of a day, such as monday or sunday"
)

// loadZone returns the time zone with an IANA name. It refuses "Local", so that results do not
// depend on the machine, and "", which time.LoadLocation takes for UTC.
func loadZone(s string) (*time.Location, bool) {
	if s == "" || s == "Local" {
		return nil, false
	}
	zone, err := time.LoadLocation(s)
	return zone, err == nil
}

// parseWeekday returns the day with an English name, ignoring case.
func parseWeekday(s string) (time.Weekday, bool) {
	for day := time.Sunday; day <= time.Saturday; day++ {
		if strings.EqualFold(day.String(), s) {
			return day, true
		}
	}
	return 0, false
}

// Settings are the values that Text can write to a rookery.yaml: those that a caller can give when
// it creates a vault. An empty value means the default.
type Settings struct{ Timezone, WeekStart, Language string }

// Check returns INVALID_PARAMETER with the name of the argument if the time zone, the week start or
// the language is invalid. Empty values are valid.
func (s Settings) Check() error {
	if _, ok := loadZone(s.Timezone); !ok && s.Timezone != "" {
		return fault.New(fault.InvalidParameter, badZone).With("argument", "timezone")
	}
	if _, ok := parseWeekday(s.WeekStart); !ok && s.WeekStart != "" {
		return fault.New(fault.InvalidParameter, badWeekStart).With("argument", "week_start")
	}
	if _, ok := ParseLanguage(s.Language); !ok && s.Language != "" {
		return fault.New(fault.InvalidParameter, "%s", badLanguage()).With("argument", "language")
	}
	return nil
}

// Text returns a rookery.yaml with these settings, one line for each that is not empty. It does not
// validate them; see Check.
func (s Settings) Text() []byte {
	var b strings.Builder
	for _, e := range [][2]string{
		{"timezone", s.Timezone}, {"week_start", s.WeekStart}, {"language", s.Language},
	} {
		if e[1] != "" {
			b.WriteString(e[0] + ": " + yamlText(e[1]) + "\n")
		}
	}
	return []byte(b.String())
}

// yamlText returns a YAML scalar that reads as s.
func yamlText(s string) string {
	if settingWord.MatchString(s) {
		return s
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`).Replace(s) + `"`
}
