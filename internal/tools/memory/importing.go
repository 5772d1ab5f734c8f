package memory

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/convert"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/memory"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tenant"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/state"
)

// An importer drafts the lines of an import, one after the other. Lines may refer only to items of
// earlier lines, of the same call or of the vault, so the order of an export matters.
//
// An importing is passed by value: its maps and its output are shared between the copies. It
// belongs to one run of a draft.
type importer struct {
	author
	out    *importOut
	others map[string]bool // agents of other principals

	// The content of the draft so far. To read it from the draft after each line would apply the
	// whole draft again each time.
	owners map[string]string       // agents of the added memories, by memory id
	staged map[memory.Ref]bool     // items that the draft contains
	keys   map[string]bool         // keys of the added memories, each prefixed with its principal
	linked map[string]memory.Links // links in the draft, by memory id
}

// newImporter returns an importing with an empty draft. others are the agents that belong to other
// principals; see claimAgents.
func newImporter(a author, out *importOut, others map[string]bool) importer {
	return importer{
		author: a, out: out, others: others, owners: map[string]string{}, staged: map[memory.Ref]bool{},
		keys: map[string]bool{}, linked: map[string]memory.Links{},
	}
}

// has reports whether an item exists, in the vault or in the draft.
func (j importer) has(kind, id string) bool {
	if j.staged[memory.Ref{Kind: kind, ID: id}] {
		return true
	}
	_, _, there := j.index().Place(kind, id)
	return there
}

// put stages an item, and notes it as part of the draft. The principal, the agent and the times in
// the value must be checked before.
func (j importer) put(kind, id string, value any) error {
	j.staged[memory.Ref{Kind: kind, ID: id}] = true
	return j.tx.PutItem(kind, id, value)
}

// importedID matches the ids that an import accepts. An id is part of a path over HTTP, and of keys
// of the index, so it contains no slash, space or control character. Ids of agents have rules of
// their own, which the claim checks.
var importedID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$`)

// agentOf returns the agent for which a line is stored: the one that it names, or else the
// caller's. The name `local` also means the caller's agent, because it is the only principal of a
// server without accounts: so the export of such a server can be imported into a tenant.
func (j importer) agentOf(b importLine) string {
	if agent := b.agent(); agent != "" && agent != auth.Local {
		return agent
	}
	return j.Agent
}

// addLine drafts one line. It returns a fault if the line is not valid, which ends the import. The
// principal and the format of an item are not taken from the line: the import determines them, so a
// file cannot claim to come from another principal.
func (j importer) addLine(b importLine) error {
	if b.ID != "" && b.Kind != memory.KindAgent && !importedID.MatchString(b.ID) {
		return b.fault("an id has at most 128 letters, digits and the characters _ . : -")
	}
	switch b.Kind {
	case memory.KindMemory:
		return j.memory(b)
	case memory.KindLinks:
		return j.links(b)
	case memory.KindAgent:
		return j.agent(b)
	case memory.KindChapter:
		return addItem(j, b, func(c *memory.Chapter) string {
			c.V, c.Agent, c.Principal = memory.Format, j.agentOf(b), j.Principal
			if c.Origin = cmp.Or(c.Origin, memory.OriginManual); c.Origin != memory.OriginManual &&
				c.Origin != memory.OriginAuto {
				return "origin must be manual or auto"
			}
			return j.dated(&c.Created)
		})
	case memory.KindWisdom:
		return addItem(j, b, func(w *memory.Wisdom) string {
			w.V, w.Agent, w.Principal = memory.Format, j.agentOf(b), j.Principal
			return j.dated(&w.Created)
		})
	}
	return b.fault("kind must be one of memory, links, agent, chapter, wisdom")
}

// agent drafts the record of an agent. The record of another principal's agent, or one with a
// reserved id, is left out. A time of activity in the future becomes the time of the draft.
func (j importer) agent(b importLine) error {
	if j.others[b.ID] || b.ID == auth.Local || auth.Reserved(b.ID) {
		j.leave(b, "the agent belongs to another principal")
		return nil
	}
	return addItem(j, b, func(a *memory.Agent) string {
		a.V, a.Principal, a.Active = memory.Format, j.Principal, min(a.Active, j.now())
		if a.Type = cmp.Or(a.Type, memory.AgentMain); a.Type != memory.AgentMain && a.Type != memory.AgentSub {
			return "type must be main or subagent"
		}
		return j.dated(&a.Created)
	})
}

// dated replaces a time of 0 by the time of the draft. It returns the reason if the time is not
// valid, or "". at is in Unix milliseconds. Times in the future are refused because the order of
// memories depends on them: such a memory would stay the newest for long.
func (j importer) dated(at *int64) string {
	if *at == 0 {
		*at = j.now()
	}
	if *at < 0 || *at > j.now() {
		return "created_at must not be in the future or before 1970"
	}
	return ""
}

// fault returns the fault of an imported line, with its file and line number.
func (b importLine) fault(what string, args ...any) error {
	return fault.New(fault.InvalidQuery, what, args...).At(b.file, b.line).With("argument", "files")
}

// memory drafts a memory with its links. A memory whose id exists is skipped. It is stored for the
// principal of its agent, as far as the vault has a record of that agent; only an admin can import
// memories of another principal's agent. A key that is in use is dropped.
//
// The value is checked against checkedMemory, with the rules of memory_store. Some members are
// corrected instead: duplicate tags, a negative count of stores, and a time of update before the
// creation or in the future. A key is dropped, and not refused, because a key identifies a memory
// among those of its principal, and the caller cannot know the keys of others.
func (j importer) memory(b importLine) error {
	m := memory.Memory{Importance: memory.DefaultImportance}
	if err := b.Decode(&m); err != nil {
		return b.fault("the line is not a memory")
	}
	if err := tool.CheckValue(Family, b.Value, checkedMemory{}); err != nil {
		return fault.Of(err).At(b.file, b.line)
	}
	if b.ID == "" {
		b.ID = j.tx.ID(memory.PrefixMemory)
	}
	if j.has(memory.KindMemory, b.ID) {
		j.out.Skipped++
		return nil
	}
	if err := j.date(&m, b); err != nil {
		return err
	}
	m.V, m.Agent, m.Principal, m.Imported = memory.Format, j.agentOf(b), j.Principal, true
	if k, ok := j.index().Agent(m.Agent); ok && k.Value.Principal != j.Principal {
		if m.Principal = k.Value.Principal; !j.isAdmin() {
			return fault.New(fault.PermissionDenied, "the agent of the memory belongs to another principal").
				At(b.file, b.line).With("argument", "files")
		}
	}
	m.Session = cmp.Or(b.SessionID, m.Session, j.Session)
	m.Tags, m.Times = withoutDuplicates(m.Tags), max(m.Times, 0)
	if m.Updated < m.Created || m.Updated > j.now() {
		m.Updated = 0
	}
	if m.Key != "" {
		key := m.Principal + "\x00" + m.Key
		if _, taken := j.index().ByKey(m.Principal, m.Key); taken || j.keys[key] {
			m.Key, m.Times = "", 0
		}
		j.keys[key] = true
	}
	if err := j.put(memory.KindMemory, b.ID, &m); err != nil {
		return err
	}
	j.owners[b.ID] = m.Agent
	j.out.Created++
	if b.Links != nil {
		if err := j.link(b, *b.Links); err != nil {
			return err
		}
	}
	return j.ensureAgent(m.Agent)
}

// ensureAgent drafts the record of an agent that has none, unless the agent belongs to another
// principal. It replaces author.appear, which would apply the whole draft to the index for each
// line.
func (j importer) ensureAgent(agent string) error {
	if j.others[agent] || j.has(memory.KindAgent, agent) {
		return nil
	}
	j.staged[memory.Ref{Kind: memory.KindAgent, ID: agent}] = true
	return j.record(agent)
}

// date sets the creation time of a memory from a line: a number is Unix time in seconds, or in
// milliseconds from 1e11 on; a string is RFC 3339. Without a time, it is the time of the draft. The
// member created_at is for lines that people or other programs write; an export has the member
// created instead, in milliseconds.
func (j importer) date(m *memory.Memory, b importLine) error {
	switch at := b.CreatedAt.(type) {
	case float64:
		if at < 1e11 {
			at *= 1000
		}
		m.Created = int64(at)
	case string:
		t, err := time.Parse(time.RFC3339Nano, at)
		if err != nil {
			return b.fault("created_at is not a time: Unix time, or a string such as 2026-03-02T08:00:00Z")
		}
		m.Created = t.UnixMilli()
	}
	if wrong := j.dated(&m.Created); wrong != "" {
		return b.fault("%s", wrong)
	}
	return nil
}

// links drafts the outgoing links of a memory. Links of an unknown memory are left out. If the
// memory existed before the import, the caller must be allowed to change it; otherwise the fault is
// PERMISSION_DENIED. A memory of this import was checked with its own line.
//
// Links are added to those that the memory has already; an import removes none.
func (j importer) links(b importLine) error {
	var l memory.Links
	if err := b.Decode(&l); err != nil {
		return b.fault("the line is not a links object")
	}
	owner, there := j.owners[b.ID]
	if source, ok := j.index().Card(b.ID); ok {
		owner, there = source.Agent, true
	}
	if !there {
		j.leave(b, "there is no such memory")
		return nil
	}
	if _, added := j.owners[b.ID]; !added {
		if err := j.checkOwner(owner); err != nil {
			return err
		}
	}
	return j.link(b, l)
}

// link adds links to those of a memory. A link to an unknown memory or to the memory itself, and
// one beyond memory.MaxLinks, is listed as left out. If nothing is added, it stages nothing.
func (j importer) link(b importLine, l memory.Links) error {
	all, known := j.linked[b.ID]
	if !known {
		all = j.index().Links(b.ID).Links
	}
	added := false
	for _, kind := range memory.LinkKinds() {
		for _, target := range *l.Of(kind) {
			switch has := *all.Of(kind); {
			case !j.has(memory.KindMemory, target) || target == b.ID:
				j.leave(b, fmt.Sprintf("%s to %s does not lead to another memory", kind, target))
			case slices.Contains(has, target):
			case len(has) >= memory.MaxLinks:
				j.leave(b, fmt.Sprintf("%s to %s: a memory has at most %d links of a type",
					kind, target, memory.MaxLinks))
			default:
				added = all.Add(kind, target) || added
			}
		}
	}
	if !added {
		return nil
	}
	j.out.Others++
	all.V = memory.Format
	j.linked[b.ID] = all
	return j.put(memory.KindLinks, b.ID, all)
}

// mostLeftOut is the maximum number of left-out lines that an answer lists. Others are counted.
const mostLeftOut = 100

// leave lists a line as left out or, beyond mostLeftOut lines, counts it. A line can be listed several
// times, with a reason for each of its links.
func (j importer) leave(b importLine, reason string) {
	if len(j.out.LeftOut) == mostLeftOut {
		j.out.MoreLeftOut++
		return
	}
	j.out.LeftOut = append(j.out.LeftOut, leftOut{b.file, b.line, reason})
}

// addItem drafts an item that is stored as one value. own sets the members that the import
// determines, and returns the reason if the value is not valid. An item that exists is not changed,
// and not counted. The line must have an id.
func addItem[T any](j importer, b importLine, own func(*T) (wrong string)) error {
	if j.has(b.Kind, b.ID) {
		return nil
	}
	value := new(T)
	if b.ID == "" || b.Decode(value) != nil {
		return b.fault("the line is not a %s with an id", b.Kind)
	}
	if wrong := own(value); wrong != "" {
		return b.fault("%s", wrong)
	}
	j.out.Others++
	return j.put(b.Kind, b.ID, value)
}

// checkedMemory is the type against which an imported or updated memory is checked. It contains the
// members that a caller can set, with the limits of memory_store; members that it does not name are
// not checked.
type checkedMemory struct {
	Agent     string `json:"agent,omitempty"`
	AgentID   string `json:"agent_id,omitempty"`
	Session   string `json:"session,omitempty" max:"128"`
	SessionID string `json:"session_id,omitempty" max:"128"`
	Key       string `json:"key,omitempty" max:"256"`

	Intent     memory.Intent      `json:"intent"`
	Outcome    memory.Outcome     `json:"outcome"`
	Perception *memory.Perception `json:"perception,omitempty"`
	Reasoning  *memory.Reasoning  `json:"reasoning,omitempty"`
	Actions    []memory.Action    `json:"actions,omitempty"`
	Tags       []string           `json:"tags,omitempty" size:"tag"`
	Importance *float64           `json:"importance,omitempty" min:"0" max:"1"`
}

// Reader returns a function that reads files written by memory_export, for a tool that imports
// files of several kinds. The function parses the files and claims their agents, like
// memory_import. It returns a second function, which stores the items in a draft.
//
// The two steps are separate because a claim is a write of its own, outside the commit, and a draft
// can run several times.
func Reader(t *tenant.Registry) func(ctx context.Context, c auth.Caller, to convert.Batch) (
	func(tx *repo.Tx) (convert.Stored, error), error,
) {
	f := tools{state.Source{Teams: t, Family: Family}}
	return func(ctx context.Context, c auth.Caller, to convert.Batch) (
		func(tx *repo.Tx) (convert.Stored, error), error,
	) {
		in := importIn{Vault: tool.Vault{Vault: to.Vault}, Mutation: tool.Mutation{DryRun: to.DryRun}}
		for _, file := range to.Files {
			in.Files = append(in.Files, importFile{file.Path, string(file.Data), file.Offset})
		}
		lines, err := in.lines()
		if err != nil {
			return nil, err
		}
		others, err := f.claimAgents(ctx, c, in, lines)
		if err != nil {
			return nil, err
		}
		return func(tx *repo.Tx) (convert.Stored, error) {
			var out importOut
			ids, err := storeAll(newImporter(author{c, to.Vault, tx}, &out, others), lines)
			stored := convert.Stored{IDs: ids, Skipped: out.Skipped, MoreLeft: out.MoreLeftOut}
			for _, l := range out.LeftOut {
				stored.Left = append(stored.Left, convert.Left(l))
			}
			return stored, err
		}, nil
	}
}

// storeAll drafts all lines, and returns the ids of the created memories. It gives an id to each
// memory without one, so that it can return that id too.
func storeAll(j importer, lines []importLine) (ids []string, err error) {
	for _, l := range lines {
		if l.Kind == memory.KindMemory && l.ID == "" {
			l.ID = j.tx.ID(memory.PrefixMemory)
		}
		made := j.out.Created
		if err := j.addLine(l); err != nil {
			return nil, err
		}
		if j.out.Created > made {
			ids = append(ids, l.ID)
		}
	}
	return ids, nil
}
