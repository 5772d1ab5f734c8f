package markdown

import (
	"path"
	"strings"
)

// extensions are the file name extensions of files that are not notes. They distinguish a reference
// to a file from a reference to a note with a dot in its name. They are those that Obsidian shows
// or stores, and those of common attachments.
var extensions = map[string]bool{
	"canvas": true, "base": true, "excalidraw": true,
	"png": true, "jpg": true, "jpeg": true, "gif": true, "bmp": true, "svg": true, "webp": true, "avif": true,
	"heic": true, "tif": true, "tiff": true, "ico": true,
	"flac": true, "m4a": true, "mp3": true, "ogg": true, "wav": true, "opus": true, "3gp": true,
	"mkv": true, "mov": true, "mp4": true, "ogv": true, "webm": true, "avi": true,
	"pdf": true, "epub": true, "doc": true, "docx": true, "xls": true, "xlsx": true, "ppt": true, "pptx": true,
	"odt": true, "ods": true, "odp": true, "rtf": true,
	"txt": true, "csv": true, "tsv": true, "json": true, "xml": true, "yaml": true, "yml": true, "html": true,
	"htm": true, "css": true, "zip": true, "gz": true, "tar": true, "7z": true, "ics": true,
}

// IsFileName reports whether a name is that of a file that is not a note: it has one of the known
// extensions, in any case. A name with another extension may be a note with a dot in its name, such
// as `v1.2`.
func IsFileName(name string) bool {
	ending := path.Ext(name)
	return ending != "" && extensions[strings.ToLower(ending[1:])]
}
