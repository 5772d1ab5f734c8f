package tool

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/rookeryhq/rookery/internal/fault"
)

// An Instant is an argument that is a point in time: a number of seconds or milliseconds since
// 1970, or a text in the format of RFC 3339. The zero value means that it is not given.
type Instant struct{ text string }

// maxInstant is the maximum length of an Instant as text, in characters.
const maxInstant = 64

// firstMilliseconds is the smallest number that an Instant reads as milliseconds rather than
// seconds. As seconds it is in the year 5138, as milliseconds in March 1973.
const firstMilliseconds = 1e11

// UnmarshalJSON stores a number or a text. Milliseconds interprets it.
func (i *Instant) UnmarshalJSON(data []byte) error {
	if strings.HasPrefix(string(data), `"`) {
		return json.Unmarshal(data, &i.text)
	}
	i.text = string(data)
	return nil
}

// MarshalJSON returns the value as a JSON string.
func (i Instant) MarshalJSON() ([]byte, error) { return json.Marshal(i.text) }

// IsZero reports whether the argument is not given.
func (i Instant) IsZero() bool { return i.text == "" }

// Milliseconds returns the time in milliseconds since 1970, or 0 if the argument is not given. For
// an invalid value it returns a fault with the family's Malformed code; arg is the argument's name
// in it.
func (i Instant) Milliseconds(f *Family, arg string) (int64, error) {
	if i.IsZero() {
		return 0, nil
	}
	n, err := strconv.ParseFloat(i.text, 64)
	if err == nil && json.Valid([]byte(i.text)) && n >= 0 && n < math.MaxInt64/2 {
		if n < firstMilliseconds {
			n *= 1000
		}
		return int64(n), nil
	}
	t, err := time.Parse(time.RFC3339Nano, i.text)
	if err != nil {
		return 0, fault.New(f.Malformed, "argument %q must be a time: seconds or milliseconds since 1970, or a text "+
			"such as 2026-03-02T08:00:00Z", arg).With("argument", arg)
	}
	return t.UnixMilli(), nil
}
