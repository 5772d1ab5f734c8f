package clitool

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// A loneSink writes a single file to the path itself, if the answer has just one file and the path
// has its extension or is an existing file. Otherwise the path is a folder. It keeps the first file
// in memory until it knows which.
//
//	note.md    one file, NAME.md: it is written to note.md
//	out        one file, NAME.md: it is written to out/NAME.md
//	out.md     two files: both are written to the folder out.md
type loneSink struct {
	at    string
	fresh bool

	first []file // parts of the first file
	to    *folderSink
	lone  string // name in the folder, if there is only one file
}

var _ sink = (*loneSink)(nil)

// put implements sink. The second file shows that the path is a folder; until then the parts of the
// first are kept.
func (s *loneSink) put(f file) error {
	switch {
	case s.to != nil:
		return s.to.put(f)
	case len(s.first) == 0, f.part > 1 && s.first[0].path == f.path:
		if len(s.first) == 0 && f.part > 1 {
			return fmt.Errorf("write %s: part %d follows no other part", f.path, f.part)
		}
		s.first = append(s.first, f)
		return checkPath(f.path)
	}
	if err := s.open(s.at); err != nil {
		return err
	}
	return s.to.put(f)
}

// open opens the folder and writes the first file to it, under the name lone if that is set. If it
// fails, the sink has no folder, so that drop does nothing.
func (s *loneSink) open(folder string) (err error) {
	if s.to, err = newFolderSink(folder, s.fresh); err != nil {
		s.to = nil
		return err
	}
	for _, f := range s.first {
		name := f.path
		if s.lone != "" {
			name = s.lone
		}
		if err := s.to.putAs(f, name); err != nil {
			return err
		}
	}
	s.first = nil
	return nil
}

// finish implements sink. It decides whether the path is a file or a folder, if there was only one
// file. Without any file it creates an empty folder.
func (s *loneSink) finish() error {
	if s.to == nil {
		folder := s.at
		if s.isFile() {
			folder, s.lone = filepath.Dir(s.at), filepath.Base(s.at)
		}
		if err := s.open(folder); err != nil {
			return err
		}
	}
	return s.to.finish()
}

// isFile reports whether the path is that of a file: it exists as a file, or has the extension of
// the only file, in any case. Without any file to write it is false, so an empty export creates an
// empty folder and never an empty file.
func (s *loneSink) isFile() bool {
	if info, err := os.Stat(s.at); err == nil {
		return len(s.first) > 0 && !info.IsDir()
	}
	ext := filepath.Ext(s.at)
	return len(s.first) > 0 && ext != "" && strings.EqualFold(ext, filepath.Ext(s.first[0].path))
}

// others implements sink. For a single file it counts in the folder of that file.
func (s *loneSink) others() int { return s.to.others() }

// name implements sink.
func (s *loneSink) name(path string) string { return s.to.name(path) }

// drop implements sink. Parts in memory need no cleanup.
func (s *loneSink) drop() {
	if s.to != nil {
		s.to.drop()
	}
}
