package repo

import (
	"context"
	"fmt"
	"strings"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/vault"
)

// Trash stages a text in the trash and returns its path there. This is the original path under
// vault.Trash or, if a file is already there, a path that contains the version too
// (docs/design/0007). The folder may have files in its trash that are not in the log: Obsidian uses
// a trash folder with the same name. After maxTwins such paths it returns CONFLICT. Other errors
// are those of Put.
func (tx *Tx) Trash(ctx context.Context, path vault.Path, text []byte) (vault.Path, error) {
	at := vault.Path(vault.Trash) + path
	for n := tx.Seq(); ; n++ {
		if _, taken := tx.Folded(at); !taken {
			err := tx.Put(ctx, at, text)
			if !fault.Is(err, fault.Conflict) || n > tx.Seq()+maxTwins {
				return at, err
			}
		}
		at = vault.Path(fmt.Sprintf("%s%s.%s.md", vault.Trash, strings.TrimSuffix(string(path), ".md"),
			eventlog.Version(n)))
	}
}

// maxTwins is how many paths in the trash Tx.Trash tries that exist in the folder but not in the
// log.
const maxTwins = 100
