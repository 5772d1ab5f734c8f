package index

import (
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/markdown"
)

// A Card is the part of a note that lists of notes show and filter by: fields of its head, as
// texts. The card of a note whose head is not in the strict form (markdown.StrictHead) is empty. A
// text is empty if the field is missing, null or empty.
type Card struct {
	Title string
	Tags  []string // slugs, in text order; can contain duplicates
	Date  string   // as written; a date without quotes as in JSON

	// Words are the values of the fields that a text search covers, besides the title and the tags.
	Words []string

	project    string
	ownProject bool // the head has the field project, which can be empty; null does not count
	rare       *rareCard
}

// A rareCard has the fields that few notes have. They are behind a pointer, because a vault has a
// card for each note.
type rareCard struct {
	updated, chain, episode, kind   string
	network, walletAddress, payment string
	entities                        []string
	tagsAsWritten                   string // joined with spaces; empty if equal to the joined Tags
}

// noCard is the card of a note without any of the fields.
var noCard = &Card{}

// Card returns the card of the note. It never returns nil.
func (n *Note) Card() *Card {
	if n.card == nil {
		return noCard
	}
	return n.card
}

// Project returns the slug of the project of the note: the field project of its head or, without
// that field, its folder below projects/. It returns "" if the note has no project.
func (n *Note) Project() string {
	if c := n.Card(); c.ownProject {
		return c.project
	}
	return markdown.PlainSlug(ProjectFolder(n.Path))
}

// ProjectFolder returns the first element of a path below projects/, a folder or a file; "" for
// other paths.
func ProjectFolder(path string) string {
	rest, ok := strings.CutPrefix(path, "projects/")
	if !ok {
		return ""
	}
	name, _, _ := strings.Cut(rest, "/")
	return name
}

// emptyRareCard is the rareCard of a card without one.
var emptyRareCard = &rareCard{}

// rareFields returns the rare fields of the card. It never returns nil.
func (c *Card) rareFields() *rareCard {
	if c.rare == nil {
		return emptyRareCard
	}
	return c.rare
}

// Updated returns the field updated, in the form of Date.
func (c *Card) Updated() string { return c.rareFields().updated }

// Day returns the date of the note or, without one, the field updated; "" if it has neither.
func (c *Card) Day() string {
	if c.Date != "" {
		return c.Date
	}
	return c.Updated()
}

// Chain returns the slug of the field causal_chain_id.
func (c *Card) Chain() string { return c.rareFields().chain }

// Episode returns the slug of the field episode_id.
func (c *Card) Episode() string { return c.rareFields().episode }

// Entities returns the slugs of the field entity.
func (c *Card) Entities() []string { return c.rareFields().entities }

// Kind returns the field kind.
func (c *Card) Kind() string { return c.rareFields().kind }

// Network returns the field network.
func (c *Card) Network() string { return c.rareFields().network }

// WalletAddress returns the field wallet_address.
func (c *Card) WalletAddress() string { return c.rareFields().walletAddress }

// PaymentStatus returns the field payment_status.
func (c *Card) PaymentStatus() string { return c.rareFields().payment }

// TagsAsWritten returns the tags as the head has them, joined with spaces.
func (c *Card) TagsAsWritten() string {
	if c.rare != nil && c.rare.tagsAsWritten != "" {
		return c.rare.tagsAsWritten
	}
	return strings.Join(c.Tags, " ")
}

// TagsAreSlugs reports whether the tags are written as slugs, that is, as they are in Tags.
func (c *Card) TagsAreSlugs() bool { return c.rare == nil || c.rare.tagsAsWritten == "" }

// searchedFields lists the fields of Words, in order.
var searchedFields = []string{
	"intent", "source", "proposal_id", "target_path", "description", "summary", "network", "wallet_address",
	"tx_hash", "payment_status", "currency", "direction", "air_id",
}

// cardOf returns the card of a head; nil if the card is empty. A field that is not a text is
// converted with markdown.TextOf.
func cardOf(head *markdown.Map) *Card {
	if head == nil || len(head.Keys) == 0 {
		return nil
	}
	text := func(name string) string {
		if v, _ := head.Get(name); v != nil {
			return markdown.TextOf(v)
		}
		return ""
	}
	slug := func(name string) string { return markdown.PlainSlug(text(name)) }
	list := func(name string) []string {
		v, _ := head.Get(name)
		return markdown.TextsOf(v)
	}
	c := &Card{Title: text("title"), Date: text("date"), project: slug("project")}
	project, _ := head.Get("project")
	c.ownProject = project != nil
	for _, name := range searchedFields {
		if s := text(name); s != "" {
			c.Words = append(c.Words, s)
		}
	}
	c.Words = slices.Clip(c.Words)
	written := list("tags")
	c.Tags = slugs(written)
	c.setRare(rareCard{
		updated: text("updated"), chain: slug("causal_chain_id"), episode: slug("episode_id"), kind: text("kind"),
		network: text("network"), walletAddress: text("wallet_address"), payment: text("payment_status"),
		entities: slugs(list("entity")), tagsAsWritten: strings.Join(written, " "),
	})
	return c.orNil()
}

// setRare stores the rare fields, unless they are all empty.
func (c *Card) setRare(rare rareCard) {
	// Most tags are written as slugs. Then TagsAsWritten can join Tags, and most notes need no
	// rareCard.
	if rare.tagsAsWritten == strings.Join(c.Tags, " ") {
		rare.tagsAsWritten = ""
	}
	if !rare.isEmpty() {
		c.rare = &rare
	}
}

// isEmpty reports whether the card has no field.
func (r *rareCard) isEmpty() bool {
	return len(r.entities) == 0 && !slices.ContainsFunc(r.texts(), func(s *string) bool { return *s != "" })
}

// texts returns pointers to the texts of the card, in the order in which an image has them.
func (r *rareCard) texts() []*string {
	return []*string{
		&r.updated, &r.chain, &r.episode, &r.kind, &r.network, &r.walletAddress, &r.payment, &r.tagsAsWritten,
	}
}

// orNil returns the card; nil if it is empty.
func (c *Card) orNil() *Card {
	if c.Title == "" && c.Date == "" && !c.ownProject && len(c.Tags)+len(c.Words) == 0 && c.rare == nil {
		return nil
	}
	return c
}

// slugs returns the slugs of texts, without empty ones.
func slugs(texts []string) []string {
	var all []string
	for _, s := range texts {
		if slug := markdown.PlainSlug(s); slug != "" {
			all = append(all, slug)
		}
	}
	return slices.Clip(all)
}

// size returns about how many bytes of memory a card takes.
func (c *Card) size() int {
	if c == nil {
		return 0
	}
	const fixed = 128
	size := fixed + len(c.Title) + len(c.Date) + len(c.Tags)*(shortText+16) + len(c.Words)*16
	for _, s := range c.Words {
		size += len(s)
	}
	if c.rare != nil {
		size += 2*fixed + len(c.rare.entities)*(shortText+16)
	}
	return size
}
