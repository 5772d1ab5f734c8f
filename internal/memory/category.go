package memory

// A TaskType is the kind of work that a memory is about: one of its Values.
type TaskType string

// Values returns the kinds of work, in the order of the document (rum-retrieval-api, store).
func (TaskType) Values() []string {
	return []string{
		"bug_fix", "feature_add", "refactor", "investigation", "test_write", "documentation",
		"optimization", "security_fix", "dependency_update", "configuration", "other",
	}
}

// A FailureCategory is the kind of a failure: one of its Values, or empty.
type FailureCategory string

// Values returns the kinds of failures, in the order of the document (rum-retrieval-api, store).
func (FailureCategory) Values() []string {
	return []string{
		"incorrect_assumption", "unexpected_side_effect", "missing_dependency", "race_condition",
		"type_error", "test_failure", "build_failure", "runtime_error", "logic_error", "other",
	}
}
