package repo

import (
	"context"
	"fmt"
	"strings"

	"rookery/internal/fault"
	"rookery/internal/vault"
)

// Bin puts a text into the trash: under the path that it had or, if something is there, under one that
// names the version too (docs/design/0007). The folder may have a trash of somebody else's at the same
// place: Obsidian's is called so.
func (tx *Tx) Bin(ctx context.Context, path vault.Path, text []byte) (vault.Path, error) {
	at := vault.Path(vault.Trash) + path
	for n := tx.Seq(); ; n++ {
		if _, taken := tx.Folded(at); !taken {
			err := tx.Put(ctx, at, text)
			if !fault.Is(err, fault.Conflict) || n > tx.Seq()+maxTwins {
				return at, err
			}
		}
		at = vault.Path(fmt.Sprintf("%s%s.%s.md", vault.Trash, strings.TrimSuffix(string(path), ".md"),
			Version(n)))
	}
}

// maxTwins is how many names in the trash are tried that the folder has, and the log has not.
const maxTwins = 100
