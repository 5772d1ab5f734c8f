package bolttable

// CloseToReplace makes Compact close the old file before it replaces it, as on Windows.
func (t *Table) CloseToReplace() { t.closes = true }
