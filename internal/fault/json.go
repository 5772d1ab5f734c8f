package fault

import (
	"encoding/json"
	"math"
	"time"
)

// A wire is the JSON form of a fault: the `error` of an envelope (CONTRACT §1) or an entry of its
// `errors`.
type wire struct {
	Code       Code           `json:"code"`
	Status     Status         `json:"status"`
	Message    string         `json:"message"`
	Details    map[string]any `json:"details,omitempty"`
	FailedAt   *int           `json:"failed_at,omitempty"`
	Location   *Location      `json:"location,omitempty"`
	Errors     []*Fault       `json:"errors,omitempty"`
	Fixes      []string       `json:"fixes,omitempty"`
	RetryAfter int            `json:"retry_after,omitempty"`
	RequestID  string         `json:"request_id,omitempty"`
}

// MarshalJSON returns the JSON form that callers see. RetryAfter is in seconds, rounded up. The
// cause and BodyTooLarge are not included.
func (f *Fault) MarshalJSON() ([]byte, error) {
	return json.Marshal(wire{
		f.Code, f.Status(), f.Message, f.Details, f.FailedAt, f.Location, f.Errors, f.Fixes,
		int(math.Ceil(f.RetryAfter.Seconds())), f.RequestID,
	})
}

// UnmarshalJSON decodes the form that MarshalJSON writes. The status is not read: it follows from
// the code.
func (f *Fault) UnmarshalJSON(data []byte) error {
	var w wire
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	*f = Fault{
		Code: w.Code, Message: w.Message, Details: w.Details, FailedAt: w.FailedAt, Location: w.Location,
		Errors: w.Errors, Fixes: w.Fixes, RequestID: w.RequestID,
		RetryAfter: time.Duration(w.RetryAfter) * time.Second,
	}
	return nil
}
