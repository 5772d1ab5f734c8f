package index

import (
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/markdown"
)

// A Card is what lists of notes show of a note, and filter by: fields of its head, as texts. Without a head in
// the strict form (markdown.StrictHead) a note has an empty one. A text is empty where the field is missing,
// null, or says nothing.
type Card struct {
	Title string
	Tags  []string // slugs, in text order, some of them twice
	Date  string   // as written; a date without quotes as JSON has it

	// Words are the values of the fields that a search for a text looks into, beside the title and the tags.
	Words []string

	project    string
	ownProject bool // the head says the project, if only that there is none
	rare       *rareCard
}

// A rareCard has what few notes say.
type rareCard struct {
	updated, chain, episode, kind   string
	network, walletAddress, payment string
	entities                        []string
	tagsAsWritten                   string // with a space between them
}

// noCard is the card of a note whose head says nothing.
var noCard = &Card{}

// Card is what lists show of the note. It is never nil.
func (n *Note) Card() *Card {
	if n.card == nil {
		return noCard
	}
	return n.card
}

// Project is the slug of the project that the note is of: what its head says, else the folder below projects
// that it is in; empty: of none.
func (n *Note) Project() string {
	if c := n.Card(); c.ownProject {
		return c.project
	}
	return markdown.PlainSlug(ProjectFolder(n.Path))
}

// ProjectFolder is the first folder of a path below projects, or the file there; empty for other paths.
func ProjectFolder(path string) string {
	rest, ok := strings.CutPrefix(path, "projects/")
	if !ok {
		return ""
	}
	name, _, _ := strings.Cut(rest, "/")
	return name
}

// noRare is what a card says that has nothing rare.
var noRare = &rareCard{}

func (c *Card) more() *rareCard {
	if c.rare == nil {
		return noRare
	}
	return c.rare
}

// Updated is the field updated, as Date is.
func (c *Card) Updated() string { return c.more().updated }

// Day is the date of the note, else when it was updated; empty: neither.
func (c *Card) Day() string {
	if c.Date != "" {
		return c.Date
	}
	return c.Updated()
}

// Chain is the slug of the field causal_chain_id.
func (c *Card) Chain() string { return c.more().chain }

// Episode is the slug of the field episode_id.
func (c *Card) Episode() string { return c.more().episode }

// Entities are the slugs of the field entity.
func (c *Card) Entities() []string { return c.more().entities }

// Kind is the field kind.
func (c *Card) Kind() string { return c.more().kind }

// Network is the field network.
func (c *Card) Network() string { return c.more().network }

// WalletAddress is the field wallet_address.
func (c *Card) WalletAddress() string { return c.more().walletAddress }

// PaymentStatus is the field payment_status.
func (c *Card) PaymentStatus() string { return c.more().payment }

// TagsAsWritten are the tags with a space between them.
func (c *Card) TagsAsWritten() string {
	if c.rare != nil && c.rare.tagsAsWritten != "" {
		return c.rare.tagsAsWritten
	}
	return strings.Join(c.Tags, " ")
}

// TagsAreSlugs reports whether the tags are written as Tags has them.
func (c *Card) TagsAreSlugs() bool { return c.rare == nil || c.rare.tagsAsWritten == "" }

// searched are the fields of Words, in order.
var searched = []string{
	"intent", "source", "proposal_id", "target_path", "description", "summary", "network", "wallet_address",
	"tx_hash", "payment_status", "currency", "direction", "air_id",
}

// cardOf is the card of a head; nil if it is empty.
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
	for _, name := range searched {
		if s := text(name); s != "" {
			c.Words = append(c.Words, s)
		}
	}
	c.Words = slices.Clip(c.Words)
	written := list("tags")
	c.Tags = slugs(written)
	c.say(rareCard{
		updated: text("updated"), chain: slug("causal_chain_id"), episode: slug("episode_id"), kind: text("kind"),
		network: text("network"), walletAddress: text("wallet_address"), payment: text("payment_status"),
		entities: slugs(list("entity")), tagsAsWritten: strings.Join(written, " "),
	})
	return c.orNil()
}

// say takes what few notes say, if the note says something of it.
func (c *Card) say(rare rareCard) {
	if rare.tagsAsWritten == strings.Join(c.Tags, " ") {
		rare.tagsAsWritten = ""
	}
	if !rare.isEmpty() {
		c.rare = &rare
	}
}

func (r *rareCard) isEmpty() bool {
	return len(r.entities) == 0 && !slices.ContainsFunc(r.texts(), func(s *string) bool { return *s != "" })
}

// texts are the texts of the card, as an image has them.
func (r *rareCard) texts() []*string {
	return []*string{
		&r.updated, &r.chain, &r.episode, &r.kind, &r.network, &r.walletAddress, &r.payment, &r.tagsAsWritten,
	}
}

// orNil is the card, or nil for one that says nothing.
func (c *Card) orNil() *Card {
	if c.Title == "" && c.Date == "" && !c.ownProject && len(c.Tags)+len(c.Words) == 0 && c.rare == nil {
		return nil
	}
	return c
}

// slugs are the slugs of texts, without the empty ones.
func slugs(texts []string) []string {
	var all []string
	for _, s := range texts {
		if slug := markdown.PlainSlug(s); slug != "" {
			all = append(all, slug)
		}
	}
	return slices.Clip(all)
}

// card writes a card, or that there is none.
func (w *imageWriter) card(c *Card) {
	w.flags(c != nil, c != nil && c.ownProject, c != nil && c.rare != nil)
	if c == nil {
		return
	}
	w.raw(c.Title)
	w.raw(c.Date)
	w.text(c.project)
	w.textList(c.Tags)
	w.count(len(c.Words))
	for _, s := range c.Words {
		w.raw(s)
	}
	if c.rare == nil {
		return
	}
	for _, s := range c.rare.texts() {
		w.text(*s)
	}
	w.textList(c.rare.entities)
}

// textList writes a list of texts that several notes may have.
func (w *imageWriter) textList(list []string) {
	w.count(len(list))
	for _, s := range list {
		w.text(s)
	}
}

// card reads what the writer's card wrote.
func (b *blockReader) card() *Card {
	flags := b.flags()
	if flags&1 == 0 {
		return nil
	}
	c := b.slabs.cards.one()
	*c = Card{Title: b.raw(), Date: b.raw(), project: b.word(), ownProject: flags&2 != 0}
	c.Tags = b.words()
	if n := b.count(1); n > 0 {
		c.Words = make([]string, n)
		for i := range c.Words {
			c.Words[i] = b.raw()
		}
	}
	if flags&4 != 0 {
		c.rare = b.slabs.rareCards.one()
		for _, s := range c.rare.texts() {
			*s = b.word()
		}
		c.rare.entities = b.words()
	}
	return c
}

// size is about how many bytes a card takes.
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
