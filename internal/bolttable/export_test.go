package bolttable

// CloseToReplace makes Compact close the old file before it puts the new one in its place, as on Windows.
func (t *Table) CloseToReplace() { t.closes = true }
