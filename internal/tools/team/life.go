package team

import (
	"regexp"
	"strconv"
	"time"

	"github.com/rookeryhq/rookery/internal/fault"
)

// The limits of the lifetime of a token: at least a minute, at most ten years of 365 days.
const (
	minLife = time.Minute
	maxLife = 3650 * 24 * time.Hour
)

// The forms of a lifetime: a number, optionally a space, and a unit. The first letter of the unit
// decides; "m" means minutes, because there is no unit of months.
var (
	lifeForm = regexp.MustCompile(`^(\d{1,7}) ?(m|h|d|w|minutes?|hours?|days?|weeks?)$`)
	lifeUnit = map[byte]time.Duration{
		'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour, 'w': 7 * 24 * time.Hour,
	}
)

// lifeOf parses a lifetime such as "90 days" or "12h". A day has 24 hours. An empty text is 0,
// which means that the token does not expire. Other texts, and lifetimes outside the limits, are
// INVALID_PARAMETER.
//
// The units of hours and days are fixed lengths, so a token that is created before a change of the
// clocks expires at another time of the day.
func lifeOf(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	m := lifeForm.FindStringSubmatch(text)
	if m == nil {
		return 0, badLife("expires_in must be a number of minutes, hours, days or weeks")
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil {
		return 0, badLife("expires_in must have a number of at most 7 digits")
	}
	life := time.Duration(n) * lifeUnit[m[2][0]]
	// seven digits of weeks overflow a Duration, so the upper limit is compared before the
	// multiplication counts
	if n > int64(maxLife/lifeUnit[m[2][0]]) || life < minLife {
		return 0, badLife("expires_in must be between 1 minute and 3650 days")
	}
	return life, nil
}

// badLife returns an INVALID_PARAMETER fault about the argument expires_in.
func badLife(message string) error {
	return fault.New(fault.InvalidParameter, "%s", message).With("argument", "expires_in").
		With("allowed", []string{"N minutes", "N hours", "N days", "N weeks"}).
		Fix(`use "90 days" or 12h`)
}
