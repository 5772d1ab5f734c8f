package search_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/unicode/norm"

	"github.com/rookeryhq/rookery/internal/search"
	settings "github.com/rookeryhq/rookery/internal/vault"
)

// TestLanguages looks words up in other forms than the notes have them in.
func TestLanguages(t *testing.T) {
	var wrong []string
	for _, c := range []struct {
		language, text string
		finds          []string
		not            []string
	}{
		{"english", "She wrote two letters to the children about mom's bikes in January.", []string{
			"writing", "written", "letter", "child", "kids", "mother", "bicycle", "Jan", "2",
			"LETTERS", "bike", "moms",
		}, []string{"reading", "lettuce"}},
		{"german", "Die Häuser am Fluß und die Straßen der Städte", []string{
			"Haus", "Fluss", "fluß", "STRASSE", "Straße", "stadt", "hauser", "strassen",
		}, []string{"dorf"}},
		{"fr", "Les rivières continuellement gelées, l'été", []string{
			"rivière", "riviere", "continuelle", "gelée", "gelee", "ete", "été",
		}, []string{"montagne"}},
		{"es", "Las canciones rápidas de los niños", []string{
			"canción", "cancion", "rápido", "niño", "nino", "niños",
		}, []string{"silencio"}},
		{"it", "I ragazzi mangiavano le pesche", []string{"ragazzo", "mangiare", "pesca"}, nil},
		{"pt-BR", "As meninas e os corações", []string{"menina", "coracoes", "corações"}, nil},
		{"nl", "De lopende honden en katten", []string{"hond", "kat", "lopend"}, nil},
		{"sv_SE", "Båtarna seglade på sjöarna", []string{"båt", "segla", "batarna"}, nil},
		{"finnish", "talossa olivat kissat", []string{"talo", "kissa"}, nil},
		{"ru", "Читали книги о городах", []string{"книга", "город", "ЧИТАЛИ"}, []string{"река"}},
		{"tr", "Kitaplar evlerde", []string{"kitap", "ev", "KİTAPLAR"}, nil},
		{"hungarian", "A házakban könyvek vannak", []string{"ház", "könyv", "konyvek"}, nil},
		{"ar", "الكتاب في المدينة مُحَمَّد", []string{"كتاب", "مدينة", "محمد"}, nil},
		{"el", "Ο δρόμος προς τη ΘΆΛΑΣΣΑ, Οδυσσεύς", []string{
			"θάλασσα", "θαλασσα", "ΔΡΌΜΟΣ", "οδυσσευσ", "δρομος",
		}, nil},
		{"zh", "我们在北京大学的图书馆", []string{"北京", "大学", "图书馆", "北京大学", "京", "馆"}, []string{"上海"}},
		{"ja", "東京タワーへ行きました。ﾎﾃﾙは静か", []string{
			"東京", "タワー", "東京タワー", "行き", "ホテル", "静",
		}, []string{"大阪"}},
		{"ko", "항구에서 등대를 보았다", []string{"항구", "등대", "등대를", "항"}, []string{"바다"}},
		{"th", "แม่น้ำเจ้าพระยาไหลผ่านกรุงเทพ", []string{"แม่น้ำ", "กรุงเทพ", "เจ้าพระยา"}, nil},
		{"lo", "ສະບາຍດີຊາວໂລກ", []string{"ຊາວໂລກ", "ສະບາຍ"}, nil},
		{"km", "សួស្តីពិភពលោក", []string{"ពិភពលោក"}, nil},
		{"hi", "नदी के किनारे बाज़ार में किताबें", []string{"नदी", "बाज़ार", "किताबें"}, []string{"नद"}},
		{"vi", "Con đường bên dòng sông", []string{"đường", "duong", "ĐƯỜNG", "song"}, nil},
		{"is", "Þoka yfir höfninni, æðarfugl", []string{"þoka", "thoka", "aedarfugl", "HÖFNINNI"}, nil},
		{"he", "שָׁלוֹם לעולם", []string{"שלום", "לעולם"}, nil},
	} {
		v := vault{"n.md": c.text}
		for _, query := range c.finds {
			if len(find(t, v, c.language, query)) == 0 {
				wrong = append(wrong, c.language+" does not find "+query)
			}
		}
		for _, query := range c.not {
			if len(find(t, v, c.language, query)) > 0 {
				wrong = append(wrong, c.language+" finds "+query)
			}
		}
	}
	require.Empty(t, wrong)
}

func TestStems(t *testing.T) {
	for _, name := range settings.Languages() {
		require.True(t, search.Stems(name), name)
	}
	for _, name := range []string{"english", "en", "EN", " eng ", "en-GB", "de_AT", "Turkish", "nb"} {
		require.True(t, search.Stems(name), name)
	}
	for _, name := range []string{"", "klingon", "ja", "e", "english german"} {
		require.False(t, search.Stems(name), name)
	}
}

func TestStopWordsCountWhereTheyAreAllThereIs(t *testing.T) {
	v := vault{
		"a.md": "to be or not to be", "b.md": "the winter of the year", "c.md": "a year to remember",
	}
	require.Equal(t, []string{"a.md"}, find(t, v, "english", "be or not"))
	require.ElementsMatch(t, []string{"b.md", "c.md"}, find(t, v, "english", "what of the year"))
	require.Equal(t, []string{"b.md"}, find(t, v, "english", `"of the year"`))
	require.Equal(t, []string{"c.md"}, find(t, v, "english", "year -the"))
}

func TestTyposAreRepairedOnlyWhereNothingElseFits(t *testing.T) {
	v := vault{
		"a.md": "a lantern in the window", "b.md": "the lanterns", "c.md": "Latern is a name",
		"d.md": "conversation", "e.md": "version 2026",
	}
	for query, want := range map[string][]string{
		"lantren":      {"a.md", "b.md"},
		"latern":       {"c.md"},
		"latnern":      {"a.md", "b.md", "c.md"},
		"convresatoin": {"d.md"},
		"convrestion":  {"d.md"},
		"wimdow":       {"a.md"},
		"wnd":          {},
		"2027":         {},
		"lantren*":     {},
		`"lantren"`:    {},
	} {
		got := find(t, v, "english", query)
		if query == "latnern" {
			require.Subset(t, want, got)
			require.NotEmpty(t, got)
			continue
		}
		require.ElementsMatch(t, want, got, query)
	}
}

// TestPastedPages are queries that are too long to be meant: they cost little, and find something.
func TestPastedPages(t *testing.T) {
	v := generated(5, 300)
	x := v.index("english")
	var page strings.Builder
	page.WriteString(v["people/freya-holm.md"])
	for len(page.String()) < 10_000 {
		page.WriteString(" -x" + page.String() + ` "copper garden" -"a b" lan* nosuchword`)
	}
	for _, text := range []string{
		page.String(), strings.Repeat("a* b* -c* ", 1000), strings.Repeat(`-"a b" `, 1500),
		strings.Repeat("港口灯塔", 2500), `"` + strings.Repeat("港口灯塔", 2500) + `"`,
		strings.Repeat("x", 10_000), strings.Repeat(`"`, 10_000), strings.Repeat("-", 10_000),
	} {
		r, err := x.Search(search.ParseQuery(text), search.Options{Text: v.text})
		require.NoError(t, err)
		require.LessOrEqual(t, len(r.Items), search.DefaultLimit)
	}
	r, err := x.Search(search.ParseQuery(v["people/freya-holm.md"]), search.Options{})
	require.NoError(t, err)
	require.NotEmpty(t, r.Items)
}

// TestNormalLetters: a text of letters that count as normal is never changed by NFKC, whichever stand
// side by side.
func TestNormalLetters(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if search.IsNormal(r) {
			p := norm.NFKC.PropertiesString(string(r))
			require.True(t, norm.NFKC.IsNormalString(string(r)) && p.BoundaryBefore(), "%q", r)
		}
	}
}

// TestPlainRuns covers that a run is taken for a single atom, without normalization, only if normalizing it
// gives the same.
func TestPlainRuns(t *testing.T) {
	s, plain := search.NewScanner(), 0
	for r := rune(0x80); r < 0x10000; r++ {
		for _, text := range []string{string(r) + "b", "a" + string(r), "ב" + string(r) + "a", "к" + string(r) + string(r)} {
			alike, isPlain := search.SplitsAlike(s, text)
			require.True(t, alike, "%q", text)
			if isPlain {
				plain++
			}
		}
	}
	require.Greater(t, plain, 10_000)
}
