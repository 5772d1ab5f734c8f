package tool

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"

	"rookery/internal/fault"
)

// An Instant is an argument that is a moment: a number of seconds or milliseconds since 1970, or a text in the form
// of RFC 3339.
type Instant struct{ text string }

// maxInstant is how long the text of an Instant may be, in characters.
const maxInstant = 64

// firstMilliseconds is the number from which on an Instant has milliseconds: as seconds it would be in the year 5138,
// and as milliseconds it is in March 1973.
const firstMilliseconds = 1e11

// UnmarshalJSON reads a number or a text. What it says is read by Milliseconds.
func (i *Instant) UnmarshalJSON(data []byte) error {
	if strings.HasPrefix(string(data), `"`) {
		return json.Unmarshal(data, &i.text)
	}
	i.text = string(data)
	return nil
}

// MarshalJSON writes the text.
func (i Instant) MarshalJSON() ([]byte, error) { return json.Marshal(i.text) }

// IsZero reports whether the argument is not given.
func (i Instant) IsZero() bool { return i.text == "" }

// Milliseconds is the moment in milliseconds since 1970; 0 if the argument is not given. Arg is the name of the
// argument, whose fault is one of the family.
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
