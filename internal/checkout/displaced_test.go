package checkout_test

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/checkout"
)

// aside are files beside which several displaced texts of a.md exist.
type aside struct {
	checkout.Files
	texts   []string
	settled int
}

func (a *aside) Displaced(context.Context) iter.Seq2[blob.Displaced, error] {
	return func(yield func(blob.Displaced, error) bool) {
		for _, text := range a.texts {
			if !yield(blob.Displaced{Key: "a.md", Data: []byte(text)}, nil) {
				return
			}
		}
	}
}

func (a *aside) Settle(context.Context, blob.Displaced) error {
	a.settled++
	return nil
}

// TestDisplacedOfEarlierNotes checks that a displaced text is no loss if a note with this name has
// had it once, or if it is an incomplete copy of such a text, also of a note that was deleted
// before the present one was created.
func TestDisplacedOfEarlierNotes(t *testing.T) {
	p := newPlace(t, nil)
	v, folder := p.open(t)
	write(t, v, "a.md", song)
	require.NoError(t, put(t.Context(), v, "a.md", nil))
	write(t, v, "a.md", "anew\n")
	folder.Close()
	before := v.Known().Version()

	torn := strings.Repeat("\x00", 20) + song[20:]
	files := &aside{Files: p.files, texts: []string{song, torn, "anew\n", "anew\nand mine\n"}}
	v = p.vault(t)
	folder, err := checkout.Open(t.Context(), v, checkout.Options{
		Files: files, Log: slog.New(slog.DiscardHandler), Now: p.now,
	})
	require.NoError(t, err)
	t.Cleanup(folder.Close)
	require.NoError(t, folder.Ready(t.Context()))
	require.Equal(t, 4, files.settled)
	require.Equal(t, before+1, v.Known().Version(), "one of them nobody knows")
	require.Equal(t, "anew\nand mine\n", text(t, v, "a.md"))
}

// TestEditorOfADisplacedFile checks that a late edit of an open file is merged on the base of what
// its editor had saved in that file, even if an older text is nearer to it. Otherwise the lines that
// were saved before would be there twice, and the removed ones would return.
func TestEditorOfADisplacedFile(t *testing.T) {
	const first = "# Harbour\n\none\ntwo\n"
	for _, settled := range []bool{false, true} {
		t.Run(fmt.Sprintf("settled=%t", settled), func(t *testing.T) {
			p := newPlace(t, nil)
			v, folder := p.open(t)
			write(t, v, "a.md", first)
			held, err := os.OpenFile(filepath.Join(p.dir, "a.md"), os.O_RDWR, 0)
			require.NoError(t, err)
			defer func() { require.NoError(t, held.Close()) }()
			save := func(text string) {
				require.NoError(t, held.Truncate(0))
				_, err := held.WriteAt([]byte(text), 0)
				require.NoError(t, err)
			}

			const earlier = "- moss\n- reed, lark and zephyr over the dunes\n"
			if settled {
				write(t, v, "a.md", "zero\n"+first) // displaces the open file
				save(first + earlier)
				folder.Close()
				v, folder = p.open(t) // ingests it
			} else {
				save(first + earlier)
				reindex(t, folder, "")
				write(t, v, "a.md", "zero\n"+text(t, v, "a.md")) // displaces it
			}
			require.Equal(t, "zero\n"+first+earlier, text(t, v, "a.md"))
			save(first + "- moss\n- kelp\n")
			folder.Close()

			v, _ = p.open(t)
			require.Equal(t, "zero\n"+first+"- moss\n- kelp\n", text(t, v, "a.md"))
		})
	}
}
