package vault

import (
	"strings"
	"time"
)

// monthLayout is how a month is written in the name of a closed audit log.
const monthLayout = "2006-01"

// ClosedAudits is what the path of every closed audit log begins with.
const ClosedAudits = ".raven/audit."

// closedSuffix is what stands behind the month in the path of a closed audit log.
const closedSuffix = ".log"

// Month is the month of a time in UTC, as it names a closed audit log: 2026-10. Months compare as
// their texts do.
func Month(t time.Time) string { return t.UTC().Format(monthLayout) }

// ClosedAudit is the path of the audit log of a month that is over: `.raven/audit.2026-10.log`. Of all
// audit logs of a vault, by path, the oldest comes first and AuditLog last.
func ClosedAudit(month string) string { return ClosedAudits + month + closedSuffix }

// ClosedMonth is the month whose closed audit log has this path; "" for every other path.
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
