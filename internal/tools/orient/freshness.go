package orient

import (
	"fmt"
	"maps"

	"github.com/rookeryhq/rookery/internal/checkout"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tool"
)

// A freshness describes how the index of a vault relates to the files in its folder. Its zero value
// has no state; see sets one.
type freshness struct {
	state   repo.Freshness // fresh, or the reason why answers may be out of date
	control repo.Control   // state of the files in the control item
	vault   string         // name of the vault as the call gave it; it can be empty
	warned  bool           // every answer already warns that the files are being read
}

// reading sets the state to Updating if the folder of the vault is being read for the first time.
// Then told is set, because the projection adds a warning to every answer. A nil folder means that
// the vault has no files.
func (f *freshness) reading(folder *checkout.Checkout) {
	if folder == nil {
		return
	}
	if _, under := folder.Reading(); under {
		f.state, f.warned = repo.Updating, true
	}
}

// hasDifferences reports whether any files are known to differ from the vault: edits that need
// confirmation, edits that were noticed, files that cannot be ingested, and the differences that
// the last comparison found. False does not mean that there are none: files change without notice
// if the vault is not watched.
func (f *freshness) hasDifferences() bool {
	c := f.control
	return c.Held.Count() > 0 || c.Noticed != nil && c.Noticed.Count > 0 || c.Left != nil && c.Left.Count > 0 ||
		f.swept() > 0
}

// swept returns the number of files that differed from the vault at the last comparison: those that
// something replaced which cannot be a note, and those that were missing. It is 0 if there was no
// comparison.
func (f *freshness) swept() int {
	if f.control.Sweep == nil {
		return 0
	}
	return f.control.Sweep.Count + f.control.Sweep.Missed
}

// notFound returns the INDEX_NOT_FOUND fault of a vault that has files, of which none is indexed.
// Its fix is the call that ingests the files, or the one that accepts them if they need
// confirmation.
func (f *freshness) notFound() error {
	missing := fault.New(fault.IndexNotFound, "the vault has files, but none of them is indexed").
		With("state", f.state)
	if f.control.Held.Count() > 0 {
		return missing.Try("raven_reindex", fault.Args{"pending": "accept"})
	}
	return missing.Try("raven_reindex", nil)
}

// warn adds a warning if the state is not fresh. The warning says what the state means and how to
// correct it: by a call of raven_reindex, or by waiting. It adds none if told is set.
//
// The code of each warning begins with INDEX_ and the state, so a program can handle the states by
// their codes. A warning has no call as a fix if no call of the caller would help.
func (f *freshness) warn(a *tool.Aside) {
	if f.warned {
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
		f.warning(a, "INDEX_UPDATING",
			"a reindex is running; the answer describes the version before it: repeat the call in a moment")
	case repo.Unknown:
		f.warning(a, "INDEX_UNKNOWN", "the files have not been compared with the index yet; repeat the call in a "+
			"moment, or compare them with raven_reindex", compare)
	case repo.Incompatible:
		f.warning(a, "INDEX_INCOMPATIBLE", "the format of the stored vault is newer than this release supports; "+
			"run the release that wrote it, or a newer one")
	}
}

// pending adds a warning about outside edits: either those that need confirmation, or those that
// are ingested automatically.
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

// compare are the arguments of a call of raven_reindex that compares the files with the index.
var compare = fault.Args{}

// warning adds one warning, with the calls of raven_reindex that correct the state as its fixes.
//
// A fix is the text of a call, with the vault of this call if it named one. The arguments in
// reindexes are copied, because they can be shared.
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
