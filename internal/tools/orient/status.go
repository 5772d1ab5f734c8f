package orient

import (
	"context"
	"time"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tool"
)

// A statusOut is the answer of vault_status. StatusCounts is nil if the stored vault has a newer
// format.
type statusOut struct {
	tool.Aside `json:"-"`
	// fresh, stale, pending, updating, incompatible or unknown
	Freshness repo.Freshness `json:"indexFreshness" title:"index"`
	*StatusCounts
	// always false: the index follows every change
	ReindexRequired bool `json:"reindexRequired" title:"reindex required"`
	// always empty
	ReindexReasons []string `json:"reindexReasons" title:"reindex reasons"`
}

// StatusCounts are the counts of the index, and the progress of the data derived from the log.
type StatusCounts struct {
	// notes in the vault
	Notes int `json:"noteCount" title:"notes"`
	// passages of the notes that search ranks
	Chunks int `json:"chunkCount" title:"chunks"`
	// of all notes
	Bytes int64 `json:"byteCount" title:"bytes"`
	// notes that do not parse
	Quarantined int `json:"quarantinedCount" title:"quarantined"`
	// outside edits that are not indexed yet
	Pending int `json:"pendingChangeCount" title:"pending changes"`
	// outside edits that need confirmation
	Held int `json:"heldChangeCount" title:"held changes"`
	// time since which all comparisons of the files found no change
	SweptAt *time.Time `json:"sweptAt,omitempty" title:"swept"`
	// the version at the last comparison that found a change
	SweptVersion string `json:"sweptVersion,omitempty" title:"swept version"`
	// time of the version; absent before the first
	CommittedAt *time.Time `json:"committedAt,omitempty" title:"committed"`
	// the version up to which each copy of the vault is complete; absent with as_of
	Cursors *Cursors `json:"cursors,omitempty"`
}

// Cursors are the versions up to which the copies of a vault are complete.
//
// A copy with a lower version than the vault is behind. Image is v0 if there is no image.
type Cursors struct {
	// the files in the folder of the vault
	Checkout string `json:"checkout"`
	// the stored index
	Image string `json:"image"`
	// the stored log
	Segments string `json:"segments"`
	// the audit log
	Audit string `json:"audit"`
}

// status returns the tool that reports the state of the index. A stored vault of a newer format is
// not an error here: the answer says so, without counts, because this tool is the one that a caller
// uses to find out why others fail.
//
// The members reindexRequired and reindexReasons are part of the specified form. They are false and
// empty in every answer, because the index follows every change.
func (f tools) status() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "vault_status", Family: Family, Title: "Show the state of an index",
		Role: auth.Reader, Kind: tool.Read,
		Route:    tool.Route{Method: "GET", Path: "/status"},
		Commands: []tool.Command{{Words: "status"}},
	}, func(ctx context.Context, c auth.Caller, in source) (statusOut, error) {
		out := statusOut{ReindexReasons: []string{}}
		s, err := f.open(ctx, c, in, &out.Aside)
		if fault.Is(err, fault.IndexIncompatible) {
			stored := freshness{state: repo.Incompatible}
			stored.warn(&out.Aside)
			out.Freshness = stored.state
			return out, nil
		}
		if err != nil {
			return statusOut{}, err
		}
		out.Freshness, out.StatusCounts = s.freshness.state, s.counts()
		if in.AsOf.AsOf == "" {
			out.files(s.freshness.control)
		}
		return out, nil
	})
}

// counts returns the part of the status that comes from the index.
func (s vaultView) counts() *StatusCounts {
	all := s.Index.Totals().Counted
	c := &StatusCounts{Notes: all.Notes, Chunks: all.Units, Bytes: all.Bytes, Quarantined: all.Quarantined}
	if at := s.Index.Time(); s.Index.Version() > 0 {
		c.CommittedAt = &at
	}
	return c
}

// files adds the part of the status that comes from the control item: outside edits, the last
// comparison, and the cursors. A past version has none of these, because they describe the files of
// today.
func (c *StatusCounts) files(control repo.Control) {
	c.Held = control.Held.Count()
	if control.Noticed != nil {
		c.Pending = control.Noticed.Count
	}
	if s := control.Sweep; s != nil {
		c.SweptAt, c.SweptVersion = &s.At, eventlog.Version(s.Version)
	}
	c.Cursors = &Cursors{
		Checkout: eventlog.Version(control.Cursors[repo.FilesCursor].Seq),
		Image:    eventlog.Version(0),
		Segments: eventlog.Version(control.Cursors["segments"].Seq),
		Audit:    eventlog.Version(control.Cursors[repo.AuditCursor].Seq),
	}
	if control.Image != nil {
		c.Cursors.Image = eventlog.Version(control.Image.Seq)
	}
}
