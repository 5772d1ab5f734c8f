package doctor

import "context"

// A Check examines one thing and returns at least one finding, also if it found no problem. It
// changes nothing. An error is a finding, and does not stop other checks.
type Check func(context.Context) []Finding

// One returns a check with exactly one finding.
func One(check func(context.Context) Finding) Check {
	return func(ctx context.Context) []Finding { return []Finding{check(ctx)} }
}

// Run makes checks in order and returns all findings.
func Run(ctx context.Context, checks ...Check) []Finding {
	var all []Finding
	for _, check := range checks {
		all = append(all, check(ctx)...)
	}
	return all
}

// InVault sets the name of the vault in findings, and returns them.
func InVault(name string, all []Finding) []Finding {
	for i := range all {
		all[i].Vault = name
	}
	return all
}
