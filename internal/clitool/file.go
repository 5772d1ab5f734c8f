package clitool

import (
	"encoding/base64"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
)

// A file is one entry of a list in a call or an answer: a whole file, or a part of one. Its path
// has slashes, and is relative to the root of the import or export.
type file struct {
	path string
	data []byte

	part   int // number of the part, from 1; 0: the file is whole
	offset int // elements or rows of a split file in the entries before
}

// The keys of an entry whose names are the same for all tools.
const (
	pathKey   = "path"
	partKey   = "part"
	offsetKey = "offset"
)

// entry returns the entry of a file in a call. Its text is in the member that the tool names; bytes
// that are not UTF-8 are in base64 in another member, or are INVALID_VALUE if the tool accepts only
// text. A part has its number and offset.
func (f file) entry(of *tool.Files) (value, error) {
	v := value{}
	v.set(pathKey, textValue(f.path))
	switch {
	case utf8.Valid(f.data):
		v.set(of.BodyKey(), textValue(string(f.data)))
	case of.Binary != "":
		v.set(of.Binary, textValue(base64.StdEncoding.EncodeToString(f.data)))
	default:
		return v, fault.New(fault.InvalidValue, "the text is not valid UTF-8").At(f.path, 0)
	}
	if f.part > 0 {
		v.set(partKey, numberValue(f.part))
		v.set(offsetKey, numberValue(f.offset))
	}
	return v, nil
}

// size returns the size in bytes of the file's entry in a call, by encoding it. A file that is not
// accepted is an error, as for entry. The encoding is the only exact measure: escapes make a text
// longer, and base64 makes bytes longer by a third.
func (f file) size(of *tool.Files) (int, error) {
	v, err := f.entry(of)
	if err != nil {
		return 0, err
	}
	data, err := tool.Marshal(v)
	return len(data), err
}

// filesIn decodes the entries of an answer, in their order. null is an empty list. Base64 that
// cannot be decoded is an error, and a missing path is "". It does not check the paths; see
// checkPath.
func filesIn(list value, of *tool.Files) ([]file, error) {
	if list.kind != listKind && list.kind != nullKind {
		return nil, errors.New("read a list of files: it is not a list")
	}
	var files []file
	for _, v := range list.items {
		f := file{path: v.get(pathKey).text, data: []byte(v.get(of.BodyKey()).text)}
		if raw, ok := v.member(of.Binary); ok && of.Binary != "" {
			data, err := base64.StdEncoding.DecodeString(raw.text)
			if err != nil {
				return nil, fmt.Errorf("read a list of files: %w", err)
			}
			f.data = data
		}
		if _, err := fmt.Sscan(v.get(partKey).text, &f.part); err != nil {
			f.part = 0 // it has none
		}
		files = append(files, f)
	}
	return files, nil
}
