package fileblob

import (
	"crypto/rand"
	"fmt"
	"net/url"
	"path"
	"strings"

	"github.com/rookeryhq/rookery/internal/blob"
)

// A displacedFile is a displaced file. Its name contains all that is needed to handle the file after the
// process was killed:
//
//	<stage>-<want>-<mark>-<random>-<key>
//
// want is the short digest of the expected text. The meaning of mark depends on the stage. The key
// is escaped, so that it contains no slashes, and split into parts that fit into a file name; each
// part is the folder of the next.
//
// The name is written before the file is displaced, because it is the only record of the exchange.
// A rename from one stage to another is one system call, so the record is never partial.
type displacedFile struct {
	nameInDir
	displacedPath
	bucket *Bucket
}

// A displacedPath is the name of an aside, parsed.
type displacedPath struct {
	in     string // the folder of displaced files that contains it
	stage  stage
	want   blob.Tag // short digest
	mark   string
	random string
	key    string
}

// A stage is the progress of an exchange, as the name of the aside records it.
type stage string

// The stages of a displaced file. What a stage means for the file decides what happens after a
// crash: a file at stage moved is put back if its key is free, and every other file is kept until
// its time is over, and then removed unless it is a loss.
const (
	// swapped: the file is the new one, whose inode is mark, or the one that it displaced.
	swapped stage = "s"
	// restoring: the file is the new one, whose short digest is mark, or one that must be put back.
	restoring stage = "r"
	// moved: the file was moved aside, and belongs to its key if there is no file there.
	moved stage = "m"
	// settled: the file was displaced as intended, or a newer one is in its place.
	settled stage = "k"
)

// cut is the length of the parts of an escaped key. A name with such a part is shorter than 255
// bytes.
const cut = 140

// shortTag returns a prefix of a digest that fits into a name and still distinguishes texts.
func shortTag(t blob.Tag) blob.Tag { return t[:min(len(t), 32)] }

// newDisplaced opens the place of a file that is about to be displaced, and schedules the file to be
// examined later. It creates no file. If the exchange fails before the file is moved there, the
// examination finds nothing, which is not an error.
func (b *Bucket) newDisplaced(n displacedPath, w walk) (*displacedFile, error) {
	n.in, n.want, n.random = b.store.Load().aside.path, shortTag(n.want), newRandom()
	w.make = true
	b.later.add(n)
	return b.openDisplaced(n, w)
}

// newRandom returns a random part of a name.
func newRandom() string { return rand.Text()[:13] }

// openDisplaced opens the place with a name. A long name has folders, which it creates if w.make is
// set. Most names fit into one part, and their place is in a folder that is open already, so that
// no system call is needed. With w.keep the caller must hold b.folders.
func (b *Bucket) openDisplaced(n displacedPath, w walk) (*displacedFile, error) {
	in, name := path.Split(n.path())
	in = path.Clean(in)
	_, durable := b.durable.Load(in)
	if s := b.inUse(); s != nil && s.aside.path == in && (durable || !w.keep) {
		return &displacedFile{nameInDir{s.aside, name}, n, b}, nil
	}
	f, err := b.open(in, w)
	if err != nil {
		return nil, fmt.Errorf("open the folder of displaced files: %w", err)
	}
	return &displacedFile{nameInDir{f, name}, n, b}, nil
}

// path returns the path of the file in the bucket. It is unique because of its random part. The
// parts have no dot, so that none can be "." or "..", and no slash but those between them.
func (n displacedPath) path() string {
	key := strings.ReplaceAll(url.PathEscape(n.key), ".", "%2E")
	parts := []string{
		string(n.stage), string(n.want), n.mark, n.random, key[:min(cut, len(key))],
	}
	name := strings.Join(parts, "-")
	for key = key[min(cut, len(key)):]; key != ""; key = key[min(cut, len(key)):] {
		name += "/" + key[:min(cut, len(key))]
	}
	return n.in + "/" + name
}

// parseDisplaced parses a path that displacedPath.path returned. It returns false for any other path, so
// that files of other programs in the folder are ignored.
func parseDisplaced(file string) (displacedPath, bool) {
	in := homeDir + displacedName
	if inWork(file) {
		in = workDir + displacedName
	}
	name, ok := strings.CutPrefix(file, in+"/")
	parts := strings.SplitN(strings.ReplaceAll(name, "/", ""), "-", 5)
	if !ok || len(parts) != 5 {
		return displacedPath{}, false
	}
	key, err := url.PathUnescape(parts[4])
	if err != nil || checkKey(key) != nil {
		return displacedPath{}, false
	}
	return displacedPath{in, stage(parts[0]), blob.Tag(parts[1]), parts[2], parts[3], key}, true
}

// rename renames the file to another stage, with a new mark. The rename is not synced: after a
// power loss the file may be at the stage before, which Open handles as well.
func (a *displacedFile) rename(st stage, mark string) error {
	n := a.displacedPath
	n.stage, n.mark = st, mark
	return a.renameTo(n)
}

// renameTo renames the file to n with a new random part. After a power loss the file may have both
// its old and its new name, and renaming a file to another of its own names would do nothing. On an
// error, a keeps its name.
func (a *displacedFile) renameTo(n displacedPath) error {
	n.random = newRandom()
	to, err := a.bucket.openDisplaced(n, walk{make: true})
	if err != nil {
		return err
	}
	a.bucket.later.add(n)
	if err := move(a.nameInDir, to.nameInDir); err != nil {
		to.close()
		return err
	}
	if a.stage == moved {
		a.bucket.settled.add(path.Dir(a.path()))
	}
	a.close()
	*a = *to
	return nil
}

// close closes the folder of the file.
func (a *displacedFile) close() { a.folder.close() }

// tag returns the tag of the file, or "" if it is not a plain file or cannot be read. It reads the
// whole file.
func (a *displacedFile) tag() blob.Tag {
	tag, _, err := a.hash()
	if err != nil {
		return ""
	}
	return tag
}

// had returns the digest of the text that the file is known to have had; "" if it may never have had
// the expected text, because it was found in place of it, or was not compared with it yet.
func (n displacedPath) had() string {
	if n.stage == swapped || n.stage == settled {
		return string(n.want)
	}
	return ""
}

// known reports whether a file with this tag is not a loss: it has the expected text, or it is the
// new file itself. The new file is recognized by its inode if it was not swapped yet, and by its
// digest if it was swapped and put aside again. Only prefixes of digests are compared, because only
// these are in the name.
func (a *displacedFile) known(tag blob.Tag) bool {
	tag = shortTag(tag)
	switch a.stage {
	case moved: // it still belongs to its key
		return false
	case swapped:
		if info, err := a.stat(); err == nil && a.mark != "" && inode(info) == a.mark {
			return true
		}
	case restoring:
		if string(tag) == a.mark {
			return true
		}
	}
	return tag == a.want
}
