package repo

import (
	"context"
	"errors"
	"fmt"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
)

// checkSegments checks that the segments cover the log without gaps up to their cursor.
func checkSegments(ctx context.Context, e *examined) []Finding {
	const check = "segments"
	folded := e.control.Folded()
	n, err := e.vault.log.CheckSegments(ctx, folded)
	switch {
	case fault.Is(err, fault.IndexError):
		return []Finding{Failure(check, err, fromBackup)}
	case err != nil:
		return []Finding{Failure(check, err, "")}
	case n == 0:
		return []Finding{Good(check, "none yet: the whole log is in the database")}
	}
	return []Finding{Good(check, fmt.Sprintf("%s up to %s", howMany(n, "segment"), eventlog.Version(folded)))}
}

// checkImage checks that the image in use can be read. A damaged one is only a warning: nothing is
// lost, because the next one is built from the log.
func checkImage(ctx context.Context, e *examined) []Finding {
	const check = "image"
	i := e.control.Image
	if i == nil {
		return []Finding{Good(check, "none yet: a start reads the whole log")}
	}
	if err := e.vault.log.CheckImage(ctx, *i); err != nil {
		why := "is damaged"
		if errors.Is(err, blob.ErrNotExist) {
			why = "is missing"
		}
		return []Finding{Warning(check, fmt.Sprintf("the image of %s %s: a start reads more of the log",
			eventlog.Version(i.Seq), why), "serve the vault: the next image is made from the log")}
	}
	return []Finding{Good(check, fmt.Sprintf("%s, of %d KiB", eventlog.Version(i.Seq), i.Size>>10))}
}
