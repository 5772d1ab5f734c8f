package memory

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/rookeryhq/rookery/internal/imagecode"
)

// errDamaged is the error for data that is not a valid image.
var errDamaged = errors.New("the image of the memories is damaged")

// AppendImage appends the image of the index to b and returns the result. The image of an empty
// index is empty. Equal states have equal images, byte for byte, whatever commits and images led
// to them. The image has no checksum and no format number: it is a part of the image of the
// vault, which has them.
//
// It contains, in this order: the cards, sorted by id; the names of the entries, in order, each
// with the numbers of its cards; and the links, agents, chapters, wisdom and tallies, each sorted
// by id. Numbers are varints; a text is its length and its bytes.
//
//	cards      count, then each card
//	entries    count of names, then each name with the count and the numbers of its cards
//	links      count, then each id, origin and lists of targets, in the order of LinkKinds
//	agents     count, then each id, origin and value as JSON
//	chapters   likewise
//	wisdom     likewise
//	tallies    count, then each agent, memories, successes and last time
func (x *Index) AppendImage(b []byte) []byte {
	if x.IsEmpty() {
		return b
	}
	c := coder{Coder: imagecode.Coder{Out: b}, numbers: make(map[string]int, x.cards.Len())}
	x.code(&c)
	return c.Out
}

// ReadImage returns the index of an image. The strings of the index share the memory of data.
// Damaged data is an error, and reading it allocates at most a few hundred times its length.
//
// An empty image is that of an empty index.
func ReadImage(data string) (*Index, error) {
	x := Empty()
	if data == "" {
		return x, nil
	}
	c := coder{Coder: imagecode.NewDecoder(data)}
	x.code(&c)
	if !c.Done() {
		return nil, errDamaged
	}
	x.compact()
	return x, nil
}

// compact frees the unused capacity of the trees. Filling a tree in order leaves each node that was
// split with twice the capacity that it needs; a copy of a node has no unused capacity.
//
// ScanMut after Copy copies every node.
func (x *Index) compact() {
	x.entries = *x.entries.Copy()
	x.entries.ScanMut(func(entry) bool { return true })
	x.cards = *x.cards.Copy()
	x.cards.ScanMut(func(string, *Card) bool { return true })
}

// A coder encodes or decodes an image. The order of its calls is the order of the values in the
// image, which is part of the format.
type coder struct {
	imagecode.Coder
	numbers map[string]int // card numbers, by id; only of an encoder
	cards   []*Card        // by number
}

// code codes an index. A decoder adds the values to the index.
func (x *Index) code(c *coder) {
	c.allCards(x)
	if c.Decodes() {
		c.readEntries(x)
	} else {
		c.writeEntries(x)
	}
	imagecode.Tree(&c.Coder, &x.links, 9, func(id *string, e **Edges) {
		if c.Text(id); c.Decodes() {
			*e = &Edges{Links: Links{V: Format}}
		}
		c.origin(&(*e).origin)
		for _, kind := range LinkKinds() {
			list := (*e).Of(kind)
			if c.texts(list); c.Decodes() {
				*list = slices.Clip(*list) // so that an append copies it
			}
		}
	})
	codeItems(c, &x.agents)
	codeItems(c, &x.chapters)
	codeItems(c, &x.wisdom)
	imagecode.Tree(&c.Coder, &x.tallies, 4, func(agent *string, t *Tally) {
		c.Text(agent)
		c.Natural(&t.Memories, &t.Successes)
		c.Int64(&t.Last)
	})
}

// texts codes a list of texts.
func (c *coder) texts(list *[]string) {
	for i := range imagecode.List(&c.Coder, list, 1) {
		c.Text(&(*list)[i])
	}
}

// origin codes an origin.
func (c *coder) origin(o *origin) {
	c.Uint(&o.Place.Run)
	c.Natural(&o.Place.Part)
	c.Uint(&o.Version)
}

// allCards codes the cards, sorted by id, of at least 30 bytes each. Entries refer to cards by
// their position in this order.
func (c *coder) allCards(x *Index) {
	last := ""
	imagecode.Tree(&c.Coder, &x.cards, 30, func(id *string, p **Card) {
		if !c.Decodes() {
			c.numbers[*id] = len(c.numbers)
			c.card(*p)
			return
		}
		*p = &Card{}
		c.card(*p)
		if *id = (*p).ID; len(c.cards) > 0 && *id <= last {
			c.Fail() // a tree requires ascending keys
		}
		last = *id
		c.cards = append(c.cards, *p)
		x.cardBytes += (*p).size()
	})
}

// card codes a card.
func (c *coder) card(k *Card) {
	c.Text(&k.ID)
	c.origin(&k.origin)
	c.Uint(&k.Birth)
	o := &k.Outcome
	isVerified := o.VerifiedBy != nil
	c.Flags(&k.Imported, &o.Success, &isVerified)
	c.Text(&k.Agent, &k.By, &k.Principal, &k.Session, &k.Key, &k.Goal, (*string)(&k.TaskType))
	c.Int64(&k.Created, &k.Updated)
	c.Float(&k.Importance)
	c.Natural(&k.Times)
	c.texts(&k.Tags)
	for i := range imagecode.List(&c.Coder, &k.Files, 2) {
		c.Text(&k.Files[i].Path)
		c.Byte((*byte)(&k.Files[i].Uses))
	}
	c.Text(&o.Summary, &o.FailureReason, (*string)(&o.FailureCategory))
	c.texts(&o.Learnings)
	c.texts(&o.FollowUpNeeded)
	if !isVerified {
		return
	}
	if c.Decodes() {
		o.VerifiedBy = &Verification{}
	}
	v := o.VerifiedBy
	c.Text(&v.Type, &v.Command, &v.Result)
}

// writeEntries encodes each name with the numbers of the cards of its entries. It includes the
// entries of links.
func (c *coder) writeEntries(x *Index) {
	var list coder // the number of names must come first
	names, last, members := 0, "", []int{}
	flush := func() {
		if len(members) == 0 {
			return
		}
		names++
		list.Text(&last)
		list.Count(len(members), 1)
		for i := range members {
			list.Natural(&members[i])
		}
		members = members[:0]
	}
	x.entries.Scan(func(e entry) bool {
		if e.name != last {
			flush()
			last = e.name
		}
		members = append(members, c.numbers[e.card.ID])
		return true
	})
	flush()
	c.Natural(&names)
	c.Raw(list.Out)
}

// readEntries decodes the entries. They must be in order; so each one is added at the end of the
// tree, which is fast.
//
// An entry with the number of a missing card is an error.
func (c *coder) readEntries(x *Index) {
	var before entry
	for range c.Count(0, 3) {
		var name string
		if c.Text(&name); name == "" {
			c.Fail()
			return
		}
		for range c.Count(0, 1) {
			n := 0
			if c.Index(&n, len(c.cards)); c.Failed() {
				return
			}
			e := entry{name, c.cards[n]}
			// This also excludes duplicates.
			if !before.less(e) {
				c.Fail()
				return
			}
			x.entries.Load(e)
			before = e
		}
	}
}

// codeItems codes items of a kind that the index keeps whole, with their values as JSON.
func codeItems[T any](c *coder, t *tree[*Item[T]]) {
	imagecode.Tree(&c.Coder, t, 6, func(id *string, p **Item[T]) {
		if c.Decodes() {
			*p = &Item[T]{}
		}
		k, text := *p, ""
		c.Text(id)
		c.origin(&k.origin)
		if !c.Decodes() {
			data, err := json.Marshal(k.Value)
			if err != nil {
				panic(err) // impossible: the value was parsed from JSON
			}
			text = string(data)
		}
		if c.Text(&text); c.Decodes() {
			if k.ID = *id; json.Unmarshal([]byte(text), &k.Value) != nil {
				c.Fail()
			}
		}
	})
}
