package vault

import (
	"strings"
	"time"
)

// monthLayout is the format of the month in the name of a closed audit log.
const monthLayout = "2006-01"

// ClosedAudits is the common prefix of the paths of closed audit logs.
const ClosedAudits = ".raven/audit."

// closedSuffix follows the month in the path of a closed audit log.
const closedSuffix = ".log"

// Month returns the UTC month of a time as it appears in the path of a closed audit log: 2026-10.
// Months compare as strings.
func Month(t time.Time) string { return t.UTC().Format(monthLayout) }

// ClosedAudit returns the path of the audit log of a past month: `.raven/audit.2026-10.log`. Sorted
// by path, the audit logs of a vault are in order of time, with AuditLog last.
func ClosedAudit(month string) string { return ClosedAudits + month + closedSuffix }

// ClosedMonth returns the month of the closed audit log with this path, or "" for any other path. A
// month that Month would write in another way, such as 2026-1, is not one.
func (p Path) ClosedMonth() string {
	rest, ours := strings.CutPrefix(string(p), ClosedAudits)
	month, closed := strings.CutSuffix(rest, closedSuffix)
	if !ours || !closed {
		return ""
	}
	if t, err := time.Parse(monthLayout, month); err != nil || Month(t) != month {
		return ""
	}
	return month
}
