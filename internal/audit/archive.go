package audit

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/table"
)

// Limits of archiving. An entry is not archived at once, because its time is that of the call and
// not of its write: an entry that is written a moment later may sort before it.
const (
	// archiveAge is the minimum age of an entry that is archived.
	archiveAge = 5 * time.Minute

	// maxArchived is the maximum number of entries in an archive.
	maxArchived = 1000

	// archivePrefix is the prefix of the keys of archives.
	archivePrefix = "refusals/"
)

// archiveKey returns the key of the n-th archive, such as refusals/000000000001.jsonl. Keys sort by
// number.
func archiveKey(n uint64) string { return fmt.Sprintf("%s%012d.jsonl", archivePrefix, n) }

// An archive contains entries of one day, oldest first. As an object it is one line of JSON about
// the archive, followed by one line for each entry. An object is written once and never replaced.
// One day for each archive lets a search by time skip archives by their keys.
type archive struct {
	archiveHeader
	Entries []keyedEntry `json:"-"`
}

// An archiveHeader is the first line of an archive.
type archiveHeader struct {
	Format int    `json:"format"`
	N      uint64 `json:"n"`
	Prev   []byte `json:"prev"` // SHA-256 of the previous archive; empty in the first
	Count  int    `json:"count"`
}

// An archiveSpan is the item of an archive in the table. It says which entries the archive has.
type archiveSpan struct {
	N     uint64 `json:"n"`
	First string `json:"first"` // keys of its first and last entry
	Last  string `json:"last"`
	Count int    `json:"count"`
}

// dayOf returns the UTC day of a key.
func dayOf(key string) string { return timeOf(key).Format(time.DateOnly) }

// Archive makes one pass: it moves entries that are at least archiveAge old from the table to
// archives. A pass may be interrupted at any point, and several processes may make one at once: an
// archive is written only if there is none with its number, otherwise the existing one is used.
// left reports whether entries remain that are too young.
//
// An entry moves in three steps. The archive is put into the bucket; then one commit makes it the
// last one in the head and adds its item to the table; then its entries are removed. Between the
// second and the third step an entry is in both places, so readers compare keys, and the next pass
// removes it.
func (r Refusals) Archive(ctx context.Context, now time.Time) (left bool, err error) {
	for {
		more, err := r.archiveNext(ctx, keyAt(now.Add(-archiveAge)))
		if err != nil {
			return true, err
		}
		if !more {
			return r.any(ctx)
		}
	}
}

// ArchiveDue reports whether the table of a tenant has entries that Archive would move. It costs
// one Query.
func ArchiveDue(ctx context.Context, t table.Table, now time.Time) (bool, error) {
	due, err := Refusals{table: t}.oldest(ctx, keyAt(now.Add(-archiveAge)), 1)
	return len(due) > 0, err
}

// archiveNext writes the next archive with entries before a key. If there are none, it completes an
// archive that another process has written. more reports whether there may be more to do.
//
// The entries of the last archive are removed from the table before the next archive is written, so
// that no entry is in two archives.
func (r Refusals) archiveNext(ctx context.Context, before string) (more bool, err error) {
	h, old, err := r.readHead(ctx)
	if err != nil {
		return false, err
	}
	due, err := r.oldest(ctx, before, maxArchived)
	if err != nil {
		return false, err
	}
	if len(due) == 0 {
		a, hash, err := r.nextArchive(ctx, h)
		if errors.Is(err, blob.ErrNotExist) {
			return false, nil
		}
		return r.end(ctx, old, h, archived{a, hash, err})
	}
	if due, err = r.dropArchived(ctx, h, due); err != nil || len(due) == 0 {
		return true, err
	}
	a, hash, err := r.put(ctx, h, sameDay(due))
	return r.end(ctx, old, h, archived{a, hash, err})
}

// An archived is an existing archive with its hash, or the error of getting it.
type archived struct {
	archive
	hash []byte
	err  error
}

// end makes an existing archive the last one, and removes its entries from the table. more reports
// whether there may be more to archive: also if another process has changed the head, whose archive
// is then the next one to look at.
func (r Refusals) end(
	ctx context.Context, old table.Item, h head, a archived,
) (more bool, err error) {
	if a.err != nil {
		return false, a.err
	}
	named, err := r.setHead(ctx, old, h.with(a.archive, a.hash), a.archive)
	if err != nil || !named {
		return err == nil, err
	}
	return true, r.remove(ctx, a.Entries)
}

// dropArchived removes the entries that the last archive contains from the table, and returns the
// others. If the archive does not have the hash in the head, it returns INDEX_ERROR and removes
// nothing.
func (r Refusals) dropArchived(ctx context.Context, h head, due []keyedEntry) ([]keyedEntry, error) {
	if h.N == 0 {
		return due, nil
	}
	last, hash, err := r.archive(ctx, h.N)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(hash, h.Hash) {
		return nil, chainError(h.N, nil)
	}
	there := map[string]bool{}
	for _, k := range last.Entries {
		there[k.Key] = true
	}
	var archived []keyedEntry
	due = slices.DeleteFunc(due, func(k keyedEntry) bool {
		if there[k.Key] {
			archived = append(archived, k)
		}
		return there[k.Key]
	})
	return due, r.remove(ctx, archived)
}

// sameDay returns the first entries, up to the first one of another day. all must not be empty.
func sameDay(all []keyedEntry) []keyedEntry {
	day := dayOf(all[0].Key)
	for i, k := range all {
		if dayOf(k.Key) != day {
			return all[:i]
		}
	}
	return all
}

// put writes the archive after the head. If there is one already, from a process that was
// interrupted or is working on it, put returns that one: its entries may differ from due. The
// bucket decides, because it creates an object only if there is none.
func (r Refusals) put(ctx context.Context, h head, due []keyedEntry) (archive, []byte, error) {
	a := archive{archiveHeader{headFormat, h.N + 1, h.Hash, len(due)}, due}
	data, err := a.bytes()
	if err != nil {
		return a, nil, err
	}
	_, err = r.bucket.Put(ctx, archiveKey(a.N), data, blob.IfAbsent)
	if errors.Is(err, blob.ErrCondition) {
		return r.nextArchive(ctx, h)
	}
	if err != nil {
		return a, nil, fmt.Errorf("put an archive of refused calls: %w", err)
	}
	sum := sha256.Sum256(data)
	return a, sum[:], nil
}

// nextArchive returns the archive after the head. It exists if another process wrote it without
// completing it, or if the database was lost and started again. Its Prev must be the hash of the
// head.
func (r Refusals) nextArchive(ctx context.Context, h head) (archive, []byte, error) {
	a, hash, err := r.archive(ctx, h.N+1)
	if err == nil && !bytes.Equal(a.Prev, h.Hash) {
		err = chainError(a.N, nil)
	}
	return a, hash, err
}

// with returns the head after one more archive. The days are bounds: an archive may be of an
// earlier day than the one before it, if a clock was wrong.
func (h head) with(a archive, hash []byte) head {
	day := dayOf(a.Entries[0].Key)
	if h.Oldest == "" || day < h.Oldest {
		h.Oldest = day
	}
	h.N, h.Hash, h.Newest = a.N, hash, max(h.Newest, day)
	return h
}

// setHead makes an archive the last one, unless another process has changed the head. It reports
// whether it did. old is the head item as it was read; the zero Item if there was none.
func (r Refusals) setHead(ctx context.Context, old table.Item, h head, a archive) (bool, error) {
	next := table.Item{Key: table.Key{Part: partArchives, Sort: headKey}}
	item := table.Item{Key: a.spanKey()}
	var err error
	if next.Data, err = json.Marshal(h); err != nil {
		return false, fmt.Errorf("encode the head: %w", err)
	}
	if item.Data, err = json.Marshal(a.span()); err != nil {
		return false, fmt.Errorf("encode the item of an archive: %w", err)
	}
	op := table.Create(next)
	if old.Sort != "" {
		op = table.Replace(old, next)
	}
	err = r.table.Commit(ctx, op, table.Set(item))
	if _, ok := errors.AsType[*table.Conflict](err); ok {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("name an archive of refused calls: %w", err)
	}
	return true, nil
}

// spanKey returns the key of the archive's item. It begins with the day, because archives are
// searched by time.
func (a archive) spanKey() table.Key {
	return table.Key{
		Part: partArchives, Sort: fmt.Sprintf("%s/%012d", dayOf(a.Entries[0].Key), a.N),
	}
}

// span returns the archive's item.
func (a archive) span() archiveSpan {
	return archiveSpan{a.N, a.Entries[0].Key, a.Entries[len(a.Entries)-1].Key, len(a.Entries)}
}

// remove removes entries from the table, in several commits if there are many. Entries that are
// gone already do no harm.
func (r Refusals) remove(ctx context.Context, all []keyedEntry) error {
	for some := range slices.Chunk(all, table.MaxOps) {
		var ops []table.Op
		for _, k := range some {
			ops = append(ops, table.Remove(table.Key{Part: partEntries, Sort: k.Key}))
		}
		if err := r.table.Commit(ctx, ops...); err != nil {
			return fmt.Errorf("remove archived entries: %w", err)
		}
	}
	return nil
}

// bytes returns the archive as an object.
func (a archive) bytes() ([]byte, error) {
	var b bytes.Buffer
	lines := json.NewEncoder(&b)
	err := lines.Encode(a.archiveHeader)
	for _, k := range a.Entries {
		err = errors.Join(err, lines.Encode(k))
	}
	if err != nil {
		return nil, fmt.Errorf("encode an archive: %w", err)
	}
	return b.Bytes(), nil
}

// archive reads the n-th archive, and its hash. A missing or damaged archive is INDEX_ERROR; for a
// missing one, the error also wraps blob.ErrNotExist.
func (r Refusals) archive(ctx context.Context, n uint64) (archive, []byte, error) {
	data, _, err := r.bucket.Get(ctx, archiveKey(n), 0, -1)
	if errors.Is(err, blob.ErrNotExist) {
		return archive{}, nil, broken(fmt.Sprintf("%s is missing", archiveKey(n)), err)
	}
	if err != nil {
		return archive{}, nil, unread(err)
	}
	a, err := readArchive(data)
	if err == nil && (a.N != n || a.Count != len(a.Entries) || a.Count == 0) {
		err = errors.New("it says that it is another, or is cut off")
	}
	if err != nil {
		return archive{}, nil, chainError(n, err)
	}
	sum := sha256.Sum256(data)
	return a, sum[:], nil
}

// readArchive decodes an object that archive.bytes returned. It does not compare the number of
// entries with the first line.
func readArchive(data []byte) (archive, error) {
	var a archive
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, table.MaxItem)
	if !lines.Scan() {
		return a, errors.New("it is empty")
	}
	if err := json.Unmarshal(lines.Bytes(), &a.archiveHeader); err != nil {
		return a, fmt.Errorf("decode its first line: %w", err)
	}
	for lines.Scan() {
		var k keyedEntry
		if err := json.Unmarshal(lines.Bytes(), &k); err != nil {
			return a, fmt.Errorf("decode an entry: %w", err)
		}
		a.Entries = append(a.Entries, k)
	}
	return a, lines.Err()
}

// chainError returns the fault of an archive that does not match the hash chain.
func chainError(n uint64, err error) error {
	return broken(fmt.Sprintf("%s is not what its chain says", archiveKey(n)), err)
}
