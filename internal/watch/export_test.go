package watch

// Rules are what a test can make narrower than the system does.
type Rules struct {
	Paths, Entries   int
	ByName, RootOnly bool
}

// OpenWith is Open by other rules.
func OpenWith(dir string, enter func(string) bool, r Rules) (*Tree, error) {
	own := systemRules()
	if r.Paths > 0 {
		own.paths = r.Paths
	}
	if r.Entries > 0 {
		own.entries = r.Entries
	}
	own.byName = r.ByName
	own.below = !r.RootOnly
	return new(Hub).open(dir, enter, own)
}

// Whole reports whether every change will be reported. It can become true again, when a folder
// that could not be watched is removed, or can be watched.
func (t *Tree) Whole() bool { return t.Reason() == "" }
