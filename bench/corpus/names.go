package corpus

import (
	"fmt"
	"strings"
)

// personName is the name of the person with this number. After all combinations they come again.
func (v *vault) personName(i int) string {
	return v.given[i%len(v.given)] + " " + v.family[i/len(v.given)%len(v.family)]
}

// personID is the id of the person with this number. Where the name has come before, it ends in
// how often it has.
func (v *vault) personID(i int) string {
	id := "people/" + strings.ReplaceAll(strings.ToLower(v.personName(i)), " ", "-")
	if again := i / (len(v.given) * len(v.family)); again > 0 {
		id = fmt.Sprintf("%s-%d", id, again+1)
	}
	return id
}

// projectID is the id of the project with this number.
func (v *vault) projectID(i int) string {
	return fmt.Sprintf("projects/%s-%s-%d", v.nouns[i%len(v.nouns)], v.nouns[i/3%len(v.nouns)], i)
}

// someone is the id of a person, three times of ten the hot one.
func (d *draft) someone() string {
	if d.chance(30) {
		return Hot
	}
	return d.personID(d.rand.IntN(countBefore(person, d.notes)))
}

// something is the id of a person or a project of the vault.
func (d *draft) something() string {
	projects := countBefore(project, d.notes)
	if projects == 0 || d.chance(60) {
		return d.someone()
	}
	return d.projectID(d.rand.IntN(projects))
}
