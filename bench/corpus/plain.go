package corpus

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"
)

// RareWord is a word that one of a hundred of the Plain notes has, and no other.
const RareWord = "harbourmaster"

// LongPath is the path of the last of the Plain notes, whose body is nearly as long as an outline reads: a
// megabyte of prose below headings. HalfPath is that of a note of half that length.
const (
	LongPath = "long/whole.md"
	HalfPath = "long/half.md"
)

// Plain yields n notes as people without a schema write them: in projects and other folders, with title, tags and
// dates in the frontmatter, about a KiB of prose, and no traits. Two of them are long. The same seed and n give the
// same bytes, in the same order.
func Plain(seed uint64, n int) iter.Seq[File] {
	words := strings.Fields(english)
	return func(yield func(File) bool) {
		for i := range n - 2 {
			if !yield(plain(rand.New(rand.NewPCG(seed, uint64(i))), words, i)) {
				return
			}
		}
		r := rand.New(rand.NewPCG(seed, uint64(n)))
		if yield(File{HalfPath, longText(r, words, 500_000)}) {
			yield(File{LongPath, longText(r, words, 999_000)})
		}
	}
}

// plain makes the note at position i.
func plain(r *rand.Rand, words []string, i int) File {
	var b strings.Builder
	fmt.Fprintf(&b, "---\ntitle: %s %d\ntags: [%s, topic-%d]\n", pick(r, words), i,
		pick(r, []string{"note", "idea", "log"}), r.IntN(40))
	if r.IntN(10) > 0 {
		fmt.Fprintf(&b, "date: 20%02d-%02d-%02d\n", 20+r.IntN(7), 1+r.IntN(12), 1+r.IntN(28))
	}
	if r.IntN(3) == 0 {
		fmt.Fprintf(&b, "entity: [Company %d, %s]\nstatus: %s\n", r.IntN(50), pick(r, words),
			pick(r, []string{"open", "done"}))
	}
	if r.IntN(10) == 0 {
		fmt.Fprintf(&b, "causal_chain_id: chain %d\n", r.IntN(200))
	}
	fmt.Fprintf(&b, "---\n\n# %s\n\n", pick(r, words))
	prose(&b, r, words, 400+r.IntN(1200))
	if i%100 == 7 {
		b.WriteString("\nThe " + RareWord + " knows.\n")
	}
	folder := fmt.Sprintf("projects/project-%d", r.IntN(60))
	switch r.IntN(10) {
	case 0:
		folder = "inbox"
	case 1, 2:
		folder = fmt.Sprintf("areas/area-%d/year-%d", r.IntN(12), r.IntN(6))
	}
	return File{fmt.Sprintf("%s/note-%d.md", folder, i), b.String()}
}

// prose writes sentences until there are so many bytes more.
func prose(b *strings.Builder, r *rand.Rand, words []string, bytes int) {
	for end := b.Len() + bytes; b.Len() < end; {
		for range 6 + r.IntN(8) {
			b.WriteString(pick(r, words) + " ")
		}
		b.WriteString(pick(r, words) + ".\n")
		if r.IntN(5) == 0 {
			b.WriteByte('\n')
		}
	}
}

// longText writes a body of so many bytes, with a heading before each few hundred.
func longText(r *rand.Rand, words []string, bytes int) string {
	var b strings.Builder
	for b.Len() < bytes-1000 {
		fmt.Fprintf(&b, "\n%s A *%s* and `%s`\n\n", strings.Repeat("#", 1+r.IntN(4)), pick(r, words), pick(r, words))
		prose(&b, r, words, 300)
	}
	return b.String()
}

// A language is what sentences are put together from.
type language struct {
	code   string
	words  []string
	gap    string // between two words
	stop   string // at the end of a sentence
	joined bool   // words are joined to longer ones, as in German
}

// languages are all languages, as sentences need them. The words are composed (NFC), for paths are
// made of them as well.
func languages() []language {
	list := []language{
		{code: "en", words: strings.Fields(english)},
		{code: "de", words: strings.Fields(german), joined: true},
		{code: "fr", words: strings.Fields(french)},
		{code: "is", words: strings.Fields(icelandic)},
		{code: "pl", words: strings.Fields(polish)},
		{code: "vi", words: strings.Fields(vietnamese)},
		{code: "uk", words: strings.Fields(ukrainian)},
		{code: "el", words: strings.Fields(greek)},
		{code: "ar", words: strings.Fields(arabic)},
		{code: "he", words: strings.Fields(hebrew)},
		{code: "hi", words: strings.Fields(hindi), stop: "।"},
		{code: "th", words: strings.Fields(thai), stop: " "},
		{code: "zh", words: strings.Fields(chinese), stop: "。"},
		{code: "ja", words: strings.Fields(japanese), stop: "。"},
		{code: "ko", words: strings.Fields(korean)},
	}
	for i := range list {
		l := &list[i]
		if l.stop == "" {
			l.stop = "."
		}
		if l.code != "th" && l.code != "zh" && l.code != "ja" {
			l.gap = " "
		}
	}
	return list
}

const (
	english = `harbour lantern ledger orchard weather signal kettle ferry timber meadow parcel
		compass quarry winter bridge copper garden letter morning ropewalk seldom carries
		mends gathers quietly beside under between follows heavy bright narrow`
	german = `wetter brücke hafen schlüssel straße garten fähre laterne werkzeug glocke mühle
		kessel regen tür wärme vertrag prüfung größe übung fluss holz schiff turm kreis`
	french = `forêt rivière lumière château fenêtre été hiver crème façade noël garçon naïve
		récolte pêche île clé moulin horloge brume sillage veiller rêver après derrière
		déjà bientôt lourd clair œuvre`
	icelandic = `þoka höfn ljós bátur fjörður veður æðarfugl brú steinn ský kaffi bréf vík
		sjór norðan kvöld ferð hús ávöxtur öld ýta fær gegnum undir yfir`
	polish = `żagiel łódka świt księga gołąb źródło most wiśnia miód ścieżka lódź ćma dźwięk
		późno jesień kość węzeł strażnik płynie niesie cicho między obok długi jasny`
	vietnamese = `đường sông thuyền nước đèn buổi sáng gió mưa chợ vườn cầu thư trời biển
		đồng hồ lặng lẽ giữa dưới mở đóng chờ đợi nhẹ nặng rộng hẹp quyển sổ`
	ukrainian = `маяк річка лист міст вітер човен сад ранок дзвін їжак ґанок щогла озеро
		книга вежа туман весна камінь пливе несе тихо поруч між довгий світлий`
	greek = `θάλασσα φάρος γέφυρα βιβλίο άνεμος πρωί κήπος καράβι δρόμος πηγή νησί φως
		χειμώνας γράμμα ρολόι μύλος ψωμί ήσυχα δίπλα ανάμεσα κάτω στενός λαμπρός`
	arabic = `بحر نهر جسر كتاب مصباح ريح صباح حديقة سفينة رسالة طريق شتاء مفتاح سوق
		قمر حجر برج نافذة هادئ قريب تحت بين طويل ثقيل`
	hebrew = `נמל ספר גשר רוח בוקר גן סירה מכתב דרך חורף מפתח שוק ירח אבן מגדל חלון
		שקט קרוב מתחת בין ארוך כבד פעמון אור`
	hindi = `नदी पुल किताब दीपक हवा सुबह बगीचा नाव चिट्ठी रास्ता सर्दी चाबी बाज़ार चाँद
		पत्थर मीनार खिड़की शांत पास नीचे बीच लंबा भारी घंटी`
	thai = `แม่น้ำ สะพาน หนังสือ โคมไฟ ลม เช้า สวน เรือ จดหมาย ถนน ฤดูหนาว กุญแจ ตลาด
		พระจันทร์ หิน หอคอย หน้าต่าง เงียบ ใกล้ ใต้ ระหว่าง ยาว หนัก ระฆัง`
	chinese = `港口 灯塔 桥 书 风 早晨 花园 船 信 道路 冬天 钥匙 市场 月亮 石头 塔 窗户
		安静 附近 下面 之间 长 重 钟 河流 打开 等待`
	japanese = `港 灯台 橋 ほん 風 朝 庭 ふね 手紙 道 冬 鍵 市場 月 石 とう 窓 静かに 近く
		した あいだ 長い 重い 鐘 ランプ コンパス ひらく 待つ`
	korean = `항구 등대 다리 책 바람 아침 정원 배 편지 길 겨울 열쇠 시장 달 돌 탑 창문
		조용히 가까이 아래 사이 긴 무거운 종 강 열다 기다리다`
)

// Names of people. Those that come first make the hot object.
const (
	givenNames = `Freya Åse Bjørn Zoë José Łucja Søren Chloé Mei Tomás Ines Jürgen Noémie Ragnar
		Ayşe Björk Dvora Émile Fiona Gülşen Håkon Ilse Jiří Kaia Linh Małgorzata Nuno Ólöf
		Priya Quentin`
	familyNames = `Holm Lindqvist Þórsson Nguyễn Müller Kowalczyk Ferreira Okafor Tanaka Dubois
		Sørensen Novák Çelik Ångström Weiß Papadakis Moreau Halász Iglesias Jónsdóttir Kaya
		Lopes Mäkinen Nowicka Östberg Petrov Quiroga Řehoř Šimek Túath Varga Wójcik Yılmaz
		Žukauskas`
)
