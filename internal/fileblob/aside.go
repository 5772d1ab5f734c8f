package fileblob

import (
	"crypto/rand"
	"fmt"
	"net/url"
	"path"
	"strings"

	"rookery/internal/blob"
)

// An aside is a file in displaced. Its name says everything that is to be known about it after the
// process was killed:
//
//	<stage>-<want>-<mark>-<random>-<key>
//
// want is the short digest of the text that was expected; mark depends on the stage. The key is
// escaped, so that its slashes are none, and cut into names that are short enough, each the folder
// of the next.
type aside struct {
	spot
	asideName
	bucket *Bucket
}

type asideName struct {
	in     string // the folder of displaced files that has it
	stage  stage
	want   blob.Tag // short
	mark   string
	random string
	key    string
}

// A stage says how far an exchange had come.
type stage string

const (
	// swapped: this is the new file, which has the inode mark, or what it displaced.
	swapped stage = "s"
	// restoring: this is the new file, which has the short digest mark, or what is to be put back.
	restoring stage = "r"
	// moved: this was moved aside, and belongs to its key if nothing is there.
	moved stage = "m"
	// settled: this was displaced rightly, or something newer is in its place.
	settled stage = "k"
)

// cut is the length of the parts of an escaped key. With the rest of a name they stay under 255.
const cut = 140

// short is a digest that is long enough for a name to hold, and to tell texts apart.
func short(t blob.Tag) blob.Tag { return t[:min(len(t), 32)] }

// newAside makes the place of a file that is to be displaced. It will be looked at again.
func (b *Bucket) newAside(n asideName, w walk) (*aside, error) {
	n.in, n.want, n.random = b.store.Load().aside.path, short(n.want), newRandom()
	w.make = true
	b.later.add(n)
	return b.openAside(n, w)
}

func newRandom() string { return rand.Text()[:13] }

// openAside opens the place of a name. A long one has folders, which it makes if that is wanted. Who
// wants them to be durable holds b.folders.
func (b *Bucket) openAside(n asideName, w walk) (*aside, error) {
	in, name := path.Split(n.path())
	in = path.Clean(in)
	_, durable := b.durable.Load(in)
	if s := b.store.Load(); s != nil && s.aside.path == in && (durable || !w.keep) {
		return &aside{spot{s.aside, name}, n, b}, nil
	}
	f, err := b.open(in, w)
	if err != nil {
		return nil, fmt.Errorf("open the folder of displaced files: %w", err)
	}
	return &aside{spot{f, name}, n, b}, nil
}

// path is where the file lies in the bucket.
func (n asideName) path() string {
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

// parseAside reads what path wrote; a file of another name is none of ours.
func parseAside(file string) (asideName, bool) {
	in := homeDir + displacedName
	if inWork(file) {
		in = workDir + displacedName
	}
	name, ok := strings.CutPrefix(file, in+"/")
	parts := strings.SplitN(strings.ReplaceAll(name, "/", ""), "-", 5)
	if !ok || len(parts) != 5 {
		return asideName{}, false
	}
	key, err := url.PathUnescape(parts[4])
	if err != nil || checkKey(key) != nil {
		return asideName{}, false
	}
	return asideName{in, stage(parts[0]), blob.Tag(parts[1]), parts[2], parts[3], key}, true
}

// rename takes the file to another stage.
func (a *aside) rename(st stage, mark string) error {
	n := a.asideName
	n.stage, n.mark = st, mark
	return a.become(n)
}

// become gives the file another name, which is new in all: a loss of power may have left it its last
// two, and to rename a file to another name that it has does nothing.
func (a *aside) become(n asideName) error {
	n.random = newRandom()
	to, err := a.bucket.openAside(n, walk{make: true})
	if err != nil {
		return err
	}
	a.bucket.later.add(n)
	if err := move(a.spot, to.spot); err != nil {
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

func (a *aside) close() { a.folder.close() }

// tag is that of the file; empty for what is no plain file.
func (a *aside) tag() blob.Tag {
	c, err := a.read(0, 0)
	if err != nil {
		return ""
	}
	return c.tag
}

// known reports whether a file with these contents is nobody's loss: it is the text that was
// expected, or the new one that was to take its place.
func (a *aside) known(tag blob.Tag) bool {
	tag = short(tag)
	switch a.stage {
	case moved: // it belongs to its key still
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
