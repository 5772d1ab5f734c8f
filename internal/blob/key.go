package blob

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of a key: that of S3 for a key, and that of common file systems for a name.
const (
	MaxKey     = 1024 // bytes of a key
	MaxSegment = 255  // bytes between two slashes
)

// CheckKey returns nil if a key can name an object: 1 to MaxKey bytes of UTF-8 without control
// characters, in segments of 1 to MaxSegment bytes joined by "/", none of them "." or "..".
// Otherwise the error wraps ErrKey and says what is wrong, without the key itself.
func CheckKey(key string) error {
	switch {
	case key == "":
		return fmt.Errorf("%w: it is empty", ErrKey)
	case len(key) > MaxKey:
		return fmt.Errorf("%w: %d bytes are more than %d", ErrKey, len(key), MaxKey)
	case !utf8.ValidString(key):
		return fmt.Errorf("%w: it is not UTF-8", ErrKey)
	case strings.ContainsFunc(key, unicode.IsControl):
		return fmt.Errorf("%w: it holds a control character", ErrKey)
	}
	for segment := range strings.SplitSeq(key, "/") {
		if err := checkSegment(segment); err != nil {
			return err
		}
	}
	return nil
}

// checkSegment checks one segment of a key.
func checkSegment(s string) error {
	switch {
	case s == "", s == ".", s == "..":
		return fmt.Errorf("%w: %q is no segment of one", ErrKey, s)
	case len(s) > MaxSegment:
		return fmt.Errorf("%w: a segment of %d bytes is over %d", ErrKey, len(s), MaxSegment)
	}
	return nil
}
