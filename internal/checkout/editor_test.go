package checkout_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// A style is a way in which editors save a file.
type style struct {
	name string
	save func(f file, text string) error
}

// A file is a file that an editor has open.
type file struct {
	path  string
	held  *os.File      // open since the text was read, where the style wants that; else nil
	pause time.Duration // between any two steps
}

// styles returns the styles of existing editors. holdsOpen is among them.
func styles() []style {
	all := []style{
		{"truncate and write", truncateAndWrite},
		{"rename over", renameOver},
		{"delete and create", deleteAndCreate},
		{"swap a hard link", swapLink},
		{"backup", backUp},
		holdsOpen,
	}
	if canExchange {
		all = append(all, style{"exchange", exchangeFiles})
	}
	return all
}

// holdsOpen is the style of an editor that writes through the file descriptor with which it read
// the file.
var holdsOpen = style{"hold open", func(f file, text string) error {
	if f.held == nil {
		return truncateAndWrite(f, text)
	}
	if err := f.held.Truncate(0); err != nil {
		return err
	}
	if _, err := f.held.Seek(0, 0); err != nil {
		return err
	}
	return f.fill(f.held, text)
}}

// fill writes a text in several calls.
func (f file) fill(to *os.File, text string) error {
	for _, part := range []string{text[:len(text)/3], text[len(text)/3 : len(text)/2], text[len(text)/2:]} {
		time.Sleep(f.pause)
		if _, err := to.WriteString(part); err != nil {
			return err
		}
	}
	return nil
}

// create creates or truncates a file, and writes a text.
func (f file) create(path, text string) error {
	to, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(f.fill(to, text), to.Close())
}

func truncateAndWrite(f file, text string) error { return f.create(f.path, text) }

// beside returns the path at which an editor of this file writes the text that it is about to save.
func (f file) beside() string {
	return filepath.Join(filepath.Dir(f.path), "."+filepath.Base(f.path)+".new")
}

func renameOver(f file, text string) error {
	if err := f.create(f.beside(), text); err != nil {
		return err
	}
	return os.Rename(f.beside(), f.path)
}

func deleteAndCreate(f file, text string) error {
	if err := absent(os.Remove(f.path)); err != nil {
		return err
	}
	return f.create(f.path, text)
}

// swapLink removes the old file, and gives the new one its name by a link.
func swapLink(f file, text string) error {
	if err := f.create(f.beside(), text); err != nil {
		return err
	}
	for {
		if err := absent(os.Remove(f.path)); err != nil {
			return err
		}
		time.Sleep(f.pause)
		err := os.Link(f.beside(), f.path)
		if err == nil {
			return os.Remove(f.beside())
		}
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
}

// backUp keeps the old text as a backup beside the new one.
func backUp(f file, text string) error {
	if err := absent(os.Rename(f.path, f.path+"~")); err != nil {
		return err
	}
	return f.create(f.path, text)
}

// exchangeFiles exchanges the new file and the old one, and removes the old one.
func exchangeFiles(f file, text string) error {
	if err := f.create(f.beside(), text); err != nil {
		return err
	}
	err := exchange(f.beside(), f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return os.Rename(f.beside(), f.path)
	}
	return errors.Join(err, os.Remove(f.beside()))
}

func absent(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
