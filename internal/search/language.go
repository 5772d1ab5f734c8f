package search

import (
	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/arabic"
	"github.com/blevesearch/snowballstem/danish"
	"github.com/blevesearch/snowballstem/dutch"
	"github.com/blevesearch/snowballstem/english"
	"github.com/blevesearch/snowballstem/finnish"
	"github.com/blevesearch/snowballstem/french"
	"github.com/blevesearch/snowballstem/german"
	"github.com/blevesearch/snowballstem/hungarian"
	"github.com/blevesearch/snowballstem/irish"
	"github.com/blevesearch/snowballstem/italian"
	"github.com/blevesearch/snowballstem/norwegian"
	"github.com/blevesearch/snowballstem/portuguese"
	"github.com/blevesearch/snowballstem/romanian"
	"github.com/blevesearch/snowballstem/russian"
	"github.com/blevesearch/snowballstem/spanish"
	"github.com/blevesearch/snowballstem/swedish"
	"github.com/blevesearch/snowballstem/tamil"
	"github.com/blevesearch/snowballstem/turkish"

	"github.com/rookeryhq/rookery/internal/vault"
)

// A language contains the data of the analyzer for one language.
type language struct {
	name  string // English name, lower case
	stem  func(*snowballstem.Env) bool
	stops string // words too common to distinguish notes, separated by spaces
	forms string // lines of irregular forms: the other words of a line count as the first
	other string // lines of variants, likewise, but in all their forms
}

// mutates reports whether the forms of a word can begin with other letters than the word: a
// particle that is written with it, or a changed first sound.
func (l *language) mutates() bool {
	return l.name == "arabic" || l.name == "irish" || l.name == "tamil"
}

// languages returns the languages that Snowball stems: all that a vault can name.
//
// Arabic, Irish and Tamil have no stop words.
func languages() []language {
	return []language{
		{"english", english.Stem, englishStops, englishForms, englishVariants},
		{"arabic", arabic.Stem, "", "", ""},
		{"danish", danish.Stem, danishStops, "", ""},
		{"dutch", dutch.Stem, dutchStops, "", ""},
		{"finnish", finnish.Stem, finnishStops, "", ""},
		{"french", french.Stem, frenchStops, "", ""},
		{"german", german.Stem, germanStops, "", ""},
		{"hungarian", hungarian.Stem, hungarianStops, "", ""},
		{"irish", irish.Stem, "", "", ""},
		{"italian", italian.Stem, italianStops, "", ""},
		{"norwegian", norwegian.Stem, norwegianStops, "", ""},
		{"portuguese", portuguese.Stem, portugueseStops, "", ""},
		{"romanian", romanian.Stem, romanianStops, "", ""},
		{"russian", russian.Stem, russianStops, "", ""},
		{"spanish", spanish.Stem, spanishStops, "", ""},
		{"swedish", swedish.Stem, swedishStops, "", ""},
		{"tamil", tamil.Stem, "", "", ""},
		{"turkish", turkish.Stem, turkishStops, "", ""},
	}
}

// Stems reports whether the words of a language, given by name or code, are also found in their
// other forms.
func Stems(name string) bool { return languageOf(name).stem != nil }

// languageOf returns the language with a name or code; the zero value, which does not stem, if
// there is none.
func languageOf(name string) language {
	name, _ = vault.ParseLanguage(name)
	for _, l := range languages() {
		if l.name == name {
			return l
		}
	}
	return language{}
}

// Stop words, normalized as the scanner does (ß is ss). They count only in a query without other
// words.
const (
	englishStops = `a about above after again against all also am an and any are aren arent as at be
		because been before being below between both but by can cannot cant could couldnt did didnt
		do does doesnt doing don dont down during each few for from further had hadnt has hasnt have
		havent having he her here hers herself hes him himself his how i id if ill im in into is isnt
		it its itself ive just let lets me more most my myself no nor not now of off on once only or
		other our ours ourselves out over own same she shes should shouldnt so some such than that
		thats the their theirs them themselves then there theres these they theyre this those through
		to too under until up us very was wasnt we were werent what whats when where which while who
		whom whose why will with wont would wouldnt you your youre yours yourself yourselves`
	danishStops = `af at da de dem den der deres det dig din dit du efter eller en end er et for fra
		ham han har havde hende hendes her hos hun hvad hvem hvor hvordan hvornår hvorfor i ikke ind
		jeg jer kan kun man med men mig min mit mod når og også om op os over på sig sin som så til
		ud under var ved vi vil`
	dutchStops = `aan als bij dan dat de der deze die dit door een en er geen haar had heb hebben heeft
		hem het hij hoe hun ik in is je kan maar me met mij mijn naar niet nog nu of om omdat onder
		ons ook op over te tot u uit van veel voor waar waarom wanneer want was wat we wel welke wie
		wij worden wordt zal ze zich zij zijn zo zou`
	finnishStops = `ei että he hän hänen ja jo joka jos kanssa koska kuin kuka kun kuten me mikä minä
		miksi missä mitä milloin mutta myös ne niin nyt ole oli olla on ovat se sekä sen sinä siis
		tai te tämä tämän vaan vai vain`
	frenchStops = `a ai as au aux avec c ce ces cet cette combien comme comment d dans de des du elle
		elles en est et eu il ils j je l la le les leur leurs lui m ma mais me mes moi mon n ne nos
		notre nous on ont ou où par pas pour pourquoi qu quand que quel quelle quels quelles qui quoi
		s sa se ses si son sont sur t ta te tes toi ton tu un une vos votre vous y à été être`
	germanStops = `aber alle als also am an auch auf aus bei bin bis bist da damit das dass dein dem
		den der des dessen die dies diese diesem diesen dieser dieses doch dort du durch ein eine
		einem einen einer eines er es euch euer für hat hatte haben hier hinter ich ihm ihn ihr ihre
		im in ins ist ja jede jeder jedes kann kein keine können man mein mich mir mit nach nicht noch
		nun nur ob oder ohne schon sehr sein seine sich sie sind so über um und uns unser unter vom
		von vor wann war waren warum was weil welche welcher welches wenn wer werden wie wieder wird
		wir wo wurde zu zum zur`
	hungarianStops = `a az be de egy el ez és ha hogy hogyan hol is itt ki kell le már meg mert mi
		mikor mint miért most nem ott ő ők s sem van vagy volt`
	italianStops = `a ai al alla alle allo anche che chi ci come con cosa cui da dal dalla degli dei
		del della delle dello di dove e ed era gli ha hanno ho i il in io l la le lei li lo loro lui
		ma me mi mia mio nei nel nella noi non o per perché più quale quando quanto quella quello
		questa questo se si sia sono su sua sul sulla suo ti tra tu un una uno vi voi è`
	norwegianStops = `alle at av både da de deg dem den der deres det dette du eller en enn er et for
		fra før ha han har hun hva hvem hvor hvordan hvorfor når i ikke inn jeg kan man med meg men
		mot mye mitt min må noe nå og også om opp oss over på seg sin som så til ut var ved vi vil`
	portugueseStops = `a ao aos as até com como da das de dela dele do dos e ela elas ele eles em entre
		era essa esse esta este eu foi isso isto já lhe mais mas me meu minha muito na nas no nos
		não nós o onde os ou para pela pelo por porque quais qual quando que quem se sem ser seu sua
		são também te tem teu tua um uma você é à`
	romanianStops = `a acest această al ale am ar are as au ca care ce cea cel cele cine cu cum când
		da dar de din dintre după ea ei el ele este eu fi fost i iar în între la le lor lui mai mea
		meu ne noi nu o pe pentru prin sau se si sunt să și unde un una unei unui va voi`
	russianStops = `а без бы был была были было быть в вам вас весь во вот все всё вы где да для до его
		ее её если есть еще ещё же за здесь и из или им их к как когда кто куда ли мне мы на над не
		него нее неё нет ни них но о об он она они оно от очень по под почему при с со так также там
		те то тот ты у уже чего чей что чтобы эта эти это этот я`
	spanishStops = `a al algo ante aunque como con cual cuando cuál cuándo cómo de del desde donde
		dónde el ella ellas ellos en entre era es esa ese eso esta este esto están está fue ha hay
		la las le les lo los me mi mis muy más ni no nos o para pero por porque qué que quien quién
		se según ser si sin sobre son su sus sí también te tu tus un una uno unos y ya yo él`
	swedishStops = `alla allt att av blev bli de dem den denna det detta dig din du där efter ej eller
		en er ett för från ha hade han har henne hennes hon honom hur här i icke in inte jag kan man
		med men mig min mitt mot mycket ni nu när någon och om oss på sig sin som så till under upp
		ut vad var varför vem vi vid vilken är över`
	turkishStops = `acaba ama ancak bana ben beni benim bir biz bu bunu böyle da daha de diye en gibi
		hangi hem hep her hiç için ile ise kim ki mi mu mü mı nasıl ne neden nerede niye o olan
		onlar onu onun sen siz şu ve veya ya yani çok çünkü`
)
