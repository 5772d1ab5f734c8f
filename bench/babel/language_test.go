package babel_test

import (
	"strings"

	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A language contains the parts of its words and sentences.
type language struct {
	code      string
	syllables []string
	gap       string // between words
	stop      string // behind a sentence
	cased     bool   // it has capital letters
}

// languages are the twelve. Their syllables are composed (NFC).
func languages() []language {
	return []language{
		european("fr", "ré çon là fê mu œil gar pî no drê thé vou blan ïs"),
		european("tr", "şı ğu çe ök yın gül İl tır bı öz dağ ke ün sal"),
		european("vi", "đườ ngô nước thư trờ bưở sáng mưa chợ vượ cầu đè lặng giữ"),
		european("uk", "маї рі ґан чка щог їжа лис вій тє озе ню пли йок сад"),
		european("el", "θά λασ γέ φυ ρα άνε μος κή πος ρού νη σί χει ώνα"),
		{code: "ar", syllables: strings.Fields("بحر نه جسو كتا مصب ريح صبا حدي سفن رسا طري شتا مفت سوق"),
			gap: " ", stop: "."},
		{code: "he", syllables: strings.Fields("נמ ספר גשו רוח בוק גנ סיר מכת דרכ חור מפת שוק ירח אבנ"),
			gap: " ", stop: "."},
		{code: "hi", syllables: strings.Fields("नदी पुल किता दीप हवा सुब बगी नाव चिट्ठी रास् सर्दी चाबी चाँ पत्थ"),
			gap: " ", stop: "।"},
		{code: "th", syllables: strings.Fields("แม่ น้ำ สะพา หนัง โคม ลม เช้า สวน เรือ จด ถนน ฤดู กุญ ตลาด"),
			stop: " "},
		{code: "zh", syllables: strings.Fields("港 灯 桥 书 风 晨 园 船 信 路 冬 钥 市 月"), stop: "。"},
		{code: "ja", syllables: strings.Fields("みなと 灯 はし ほん 風 あさ 庭 フネ 手 ミチ 冬 カギ いち 月"),
			stop: "。"},
		{code: "ko", syllables: strings.Fields("항구 등 다리 책 바람 침 정원 배 편지 길 겨울 쇠 시장 달"),
			gap: " ", stop: "."},
	}
}

// european is a language with capital letters.
func european(code, syllables string) language {
	return language{
		code: code, syllables: strings.Fields(syllables), gap: " ", stop: ".", cased: true,
	}
}

// slug returns the spelling of a name in the letters of addresses, which resolves to the same note.
func slug(name string) string { return vault.Slug(name) }

// section returns the id of a section, derived from its heading.
func section(heading string) string { return markdown.Slug(heading) }

// shout returns a name in capital letters, if that is the same name.
func (l language) shout(name string) string {
	if up := strings.ToUpper(name); l.cased && vault.SlugPath(up) == vault.SlugPath(name) {
		return up
	}
	return name
}
