package tenant_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"github.com/rookeryhq/rookery/internal/fileblob"
)

// A haste is a person who saves one note between the steps of an exchange, at the worst moments. It
// runs in the process that is killed, so that a seed repeats its saves. A nil haste does nothing.
type haste struct {
	l    *serving
	path string

	mu    sync.Mutex
	r     *rand.Rand
	saves int
	held  *os.File // opened before an exchange
	was   string   // its content at that time
}

func newHaste(l *serving) *haste {
	return &haste{
		l: l, path: l.at(servedFolder, hasty), r: rand.New(rand.NewPCG(l.Seed, 50)),
	}
}

// chance returns true with probability 1/n.
func (h *haste) chance(n int) bool {
	if h == nil {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.r.IntN(n) == 0
}

// concerns reports whether a change gives the note another text.
func (h *haste) concerns(c fileblob.Change) bool {
	return h != nil && (c.Path == hasty || c.To == hasty) &&
		(c.Op == fileblob.Swap || c.Op == fileblob.Rename)
}

// before sometimes saves before a change, or opens the file for a later save.
func (h *haste) before(c fileblob.Change) {
	if !h.concerns(c) {
		return
	}
	switch {
	case h.chance(4):
		h.save(h.rename)
	case h.chance(3):
		h.hold()
	}
}

// after sometimes saves after a change, or writes through the file that was opened before, which
// then writes to the displaced file.
func (h *haste) after(c fileblob.Change) {
	switch {
	case h == nil:
	case h.concerns(c) && h.chance(4):
		h.save(h.rename)
	case h.chance(3):
		h.writeHeld()
	}
}

// save adds a line to the current text of the file and saves it with how.
func (h *haste) save(how func(text string) error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.letGo()
	text, err := os.ReadFile(h.path)
	if err == nil {
		h.add(string(text), how)
	}
}

// letGo closes the open file. The caller holds mu.
func (h *haste) letGo() {
	if h.held != nil {
		_ = h.held.Close() // everything is written
		h.held = nil
	}
}

// add saves a text with one line more, and reports it before and after. The caller holds mu.
func (h *haste) add(text string, how func(text string) error) {
	h.saves++
	k := stroke{
		Word: fmt.Sprintf("r%03d-h-%03d", h.l.Round, h.saves), Note: hasty, By: "somebody",
		State: h.r.IntN(4) == 0,
	}
	told, err := json.Marshal(k)
	if err != nil {
		panic(err)
	}
	h.l.tell("saves " + string(told))
	if how(k.change(text)) == nil {
		h.l.tell("did " + k.Word)
	}
}

// rename replaces the note by another file, sometimes with an old modification time, as rsync does.
func (h *haste) rename(text string) error {
	beside := h.path + litter
	if err := os.WriteFile(beside, []byte(text), 0o600); err != nil {
		return err
	}
	if h.r.IntN(2) == 0 {
		old := time.Now().Add(-time.Hour)
		if err := os.Chtimes(beside, old, old); err != nil {
			return err
		}
	}
	return os.Rename(beside, h.path)
}

// hold opens the file, as an editor that keeps its file open does.
func (h *haste) hold() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.held != nil {
		return
	}
	f, err := os.OpenFile(h.path, os.O_RDWR, 0)
	if err != nil {
		return
	}
	if text, err := io.ReadAll(f); err == nil {
		h.held, h.was = f, string(text)
	}
}

// writeHeld writes to the open file, wherever it is by now, and closes it.
func (h *haste) writeHeld() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.held == nil {
		return
	}
	h.add(h.was, func(text string) error { return overwrite(h.held, text) })
	h.letGo()
}

// overwrite replaces the content of an open file.
func overwrite(f *os.File, text string) error {
	// The new text is longer, so the file never contains less than the old one.
	_, err := f.WriteAt([]byte(text), 0)
	return err
}

// litter is the suffix of the files that editors make beside a note.
const litter = ".new"

// An editor edits one note of a folder.
type editor struct {
	path     string
	stubborn bool   // it never reads the note again
	text     string // the text that it shows; empty: not read yet
}

// read reads the text to which the next save adds, unless the editor is stubborn and has read it
// before.
func (e *editor) read() error {
	if e.stubborn && e.text != "" {
		return nil
	}
	text, err := os.ReadFile(e.path)
	if err == nil {
		e.text = string(text)
	}
	return err
}

// A saving is a way in which an editor saves. After a whole one, no reader ever sees a part of the
// text.
type saving struct {
	whole bool
	save  func(path, text string) error
}

func savings() []saving {
	return []saving{
		{true, saveOver}, {true, saveOver}, {true, saveBySwap}, {false, saveInPlace},
		{false, saveAnew}, {false, saveAside},
	}
}

func fillFile(path, text string) error { return os.WriteFile(path, []byte(text), 0o600) }

// saveOver renames another file over the note.
func saveOver(path, text string) error {
	if err := fillFile(path+litter, text); err != nil {
		return err
	}
	return os.Rename(path+litter, path)
}

// saveBySwap exchanges another file with the note, and removes the old one.
func saveBySwap(path, text string) error {
	if err := fillFile(path+litter, text); err != nil {
		return err
	}
	err := swapNames(path+litter, path)
	if errors.Is(err, fs.ErrNotExist) {
		return os.Rename(path+litter, path)
	}
	return errors.Join(err, os.Remove(path+litter))
}

// saveInPlace truncates the note and writes it in two parts.
func saveInPlace(path, text string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text[:len(text)/2])
	time.Sleep(time.Millisecond)
	_, more := f.WriteString(text[len(text)/2:])
	return errors.Join(err, more, f.Close())
}

// saveAnew removes the note and creates it again.
func saveAnew(path, text string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return saveInPlace(path, text)
}

// saveAside renames the note to a backup and creates it again.
func saveAside(path, text string) error {
	if err := os.Rename(path, path+litter); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return saveInPlace(path, text)
}
