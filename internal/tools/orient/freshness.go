package orient

import (
	"fmt"
	"maps"

	"github.com/rookeryhq/rookery/internal/checkout"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tool"
)

// A freshness says how the answers about a vault stand to the files that people see.
type freshness struct {
	state   repo.Freshness
	control repo.Control
	vault   string // its name, as far as the call says it
	told    bool   // every answer about the vault says already that its files are being read
}

// reading takes down whether the folder of the vault is being read for the first time; nil: it has none.
func (f *freshness) reading(folder *checkout.Checkout) {
	if folder == nil {
		return
	}
	if _, under := folder.Reading(); under {
		f.state, f.told = repo.Updating, true
	}
}

// files reports whether files are known that are not as the vault says.
func (f *freshness) files() bool {
	c := f.control
	return c.Held.Count() > 0 || c.Noticed != nil && c.Noticed.Count > 0 || c.Left != nil && c.Left.Count > 0 ||
		f.swept() > 0
}

// swept is how many files the last comparison found that are not as the vault says.
func (f *freshness) swept() int {
	if f.control.Sweep == nil {
		return 0
	}
	return f.control.Sweep.Count + f.control.Sweep.Missed
}

// notFound is the fault of a vault that has files and no index of them.
func (f *freshness) notFound() error {
	missing := fault.New(fault.IndexNotFound, "the vault has files, but none of them is indexed").
		With("state", f.state)
	if f.control.Held.Count() > 0 {
		return missing.Try("raven_reindex", fault.Args{"pending": "accept"})
	}
	return missing.Try("raven_reindex", nil)
}

// warn adds the warning of a state that is not fresh: what it means, and what to do about it.
func (f *freshness) warn(a *tool.Aside) {
	if f.told {
		return
	}
	switch f.state {
	case repo.Stale:
		if u := f.control.Unwatched; u != "" && f.swept() == 0 {
			f.warning(a, "INDEX_STALE", u.Problem()+"; "+u.Remedy())
			return
		}
		f.warning(a, "INDEX_STALE", fmt.Sprintf("%d files differ from the vault and cannot be indexed; "+
			"raven_reindex lists the problem of each", f.swept()), compare)
	case repo.Pending:
		f.pending(a)
	case repo.Updating:
		f.warning(a, "INDEX_UPDATING", "a reindex is running; the answer describes the version before it: repeat the call "+
			"in a moment")
	case repo.Unknown:
		f.warning(a, "INDEX_UNKNOWN", "the files have not been compared with the index yet; repeat the call in a "+
			"moment, or compare them with raven_reindex", compare)
	case repo.Incompatible:
		f.warning(a, "INDEX_INCOMPATIBLE", "the format of the stored vault is newer than this release supports; run the "+
			"release that wrote it, or a newer one")
	}
}

// pending warns of changes from outside: those that are picked up by themselves, and those that need confirmation.
func (f *freshness) pending(a *tool.Aside) {
	if held := f.control.Held.Count(); held > 0 {
		f.warning(a, "INDEX_PENDING", fmt.Sprintf("%d outside edits need confirmation, because they would remove "+
			"or revert many notes; confirm or discard them with raven_reindex", held),
			fault.Args{"pending": "accept"}, fault.Args{"pending": "discard"})
		return
	}
	f.warning(a, "INDEX_PENDING", fmt.Sprintf("%d files changed outside and are not indexed yet; they are indexed "+
		"automatically while the vault is served, or at once with raven_reindex", f.control.Noticed.Count), compare)
}

// compare are the arguments of a raven_reindex that compares the files with the index.
var compare = fault.Args{}

// warning adds one warning, with the calls of raven_reindex that settle it.
func (f *freshness) warning(a *tool.Aside, code, message string, reindexes ...fault.Args) {
	fields := map[string]any{"state": f.state}
	fixes := make([]string, 0, len(reindexes))
	for _, with := range reindexes {
		in := maps.Clone(with)
		if f.vault != "" {
			in["vault"] = f.vault
		}
		fixes = append(fixes, fault.NewCall("raven_reindex", in).String())
	}
	if len(fixes) > 0 {
		fields["fixes"] = fixes
	}
	a.Warn(code, message, fields)
}
