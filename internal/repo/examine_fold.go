package repo

import (
	"context"
	"errors"
	"fmt"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/doctor"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
)

// segments checks that the segments cover the log without gaps up to their cursor.
func (e *examined) segments(ctx context.Context) []doctor.Finding {
	const check = "segments"
	folded := e.control.Folded()
	n, err := e.vault.log.CheckSegments(ctx, folded)
	switch {
	case fault.Is(err, fault.IndexError):
		return []doctor.Finding{doctor.Failure(check, err, fromBackup)}
	case err != nil:
		return []doctor.Finding{doctor.Failure(check, err, "")}
	case n == 0:
		return []doctor.Finding{doctor.Good(check, "none yet: the whole log is in the database")}
	}
	return []doctor.Finding{doctor.Good(check, fmt.Sprintf("%s up to %s", doctor.Count(n, "segment"), eventlog.Version(folded)))}
}

// image checks that the image in use can be read. A damaged one is only a warning: nothing is
// lost, because the next one is built from the log.
func (e *examined) image(ctx context.Context) []doctor.Finding {
	const check = "image"
	i := e.control.Image
	if i == nil {
		return []doctor.Finding{doctor.Good(check, "none yet: a start reads the whole log")}
	}
	if err := e.vault.log.CheckImage(ctx, *i); err != nil {
		why := "is damaged"
		if errors.Is(err, blob.ErrNotExist) {
			why = "is missing"
		}
		return []doctor.Finding{doctor.Warning(check, fmt.Sprintf("the image of %s %s: a start reads more of the log",
			eventlog.Version(i.Seq), why), "serve the vault: the next image is made from the log")}
	}
	return []doctor.Finding{doctor.Good(check, fmt.Sprintf("%s, of %d KiB", eventlog.Version(i.Seq), i.Size>>10))}
}
