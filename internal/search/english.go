package search

// englishForms are irregular forms. On each line, the other words count as the first one. Forms
// that are more often words of their own (ground, wound) are omitted.
const englishForms = `
arise arose arisen
awake awoke awoken
bear bore borne
beat beaten
become became
begin began begun
bend bent
bet betting
bind bound
bite bit bitten
bleed bled
blow blew blown
break broke broken
breed bred
bring brought
build built
burn burnt
buy bought
catch caught
choose chose chosen
cling clung
come came
creep crept
deal dealt
dig dug
draw drew drawn
dream dreamt
drink drank drunk
drive drove driven
dwell dwelt
eat ate eaten
fall fell fallen
feed fed
feel felt
fight fought
find found
flee fled
fling flung
fly flew flown
forbid forbade forbidden
forecast forecasted
forget forgot forgotten
forgive forgave forgiven
freeze froze frozen
get got gotten
give gave given
go went gone
grow grew grown
hang hung
hear heard
hide hid hidden
hold held
keep kept
kneel knelt
know knew known
lay laid
lead led
leap leapt
learn learnt
leave left
lend lent
lie lain
light lit
lose lost
make made
mean meant
meet met
mistake mistook mistaken
overcome overcame
oversee oversaw overseen
override overrode overridden
pay paid
prove proven
rebuild rebuilt
redo redid redone
rerun reran
rewrite rewrote rewritten
ride rode ridden
ring rang rung
rise rose risen
run ran
say said
see saw seen
seek sought
sell sold
send sent
sew sewn
shake shook shaken
shine shone
shoot shot
show shown
shrink shrank shrunk
sing sang sung
sink sank sunk
sit sat
sleep slept
slide slid
speak spoke spoken
speed sped
spell spelt
spend spent
spill spilt
spin spun
spring sprang sprung
stand stood
steal stole stolen
stick stuck
sting stung
stink stank stunk
strike struck stricken
strive strove striven
swear swore sworn
sweep swept
swim swam swum
swing swung
take took taken
teach taught
tear tore torn
tell told
think thought
throw threw thrown
understand understood
undertake undertook undertaken
undo undid undone
uphold upheld
wake woke woken
wear wore worn
weave wove woven
weep wept
win won
withdraw withdrew withdrawn
write wrote written
analysis analyses
axis axes
calf calves
child children kid kids
crisis crises
criterion criteria
foot feet
goose geese
half halves
hypothesis hypotheses
knife knives
leaf leaves
life lives
loaf loaves
man men
matrix matrices
mouse mice
ox oxen
person people
phenomenon phenomena
shelf shelves
thief thieves
thesis theses
tooth teeth
wife wives
wolf wolves
woman women
bad worse worst
good better best
far farther farthest
`

// englishVariants are different spellings and synonyms. On each line, the other words count as
// the first one, in all their forms, such as plurals.
const englishVariants = `
january jan
february feb
april apr
june jun
july jul
august aug
september sep sept
october oct
november nov
december dec
monday mon
tuesday tue tues
wednesday wed
thursday thu thur thurs
friday fri
0 zero
1 one
first 1st
2 two
second 2nd
3 three
third 3rd
4 four
fourth 4th
5 five
fifth 5th
6 six
sixth 6th
7 seven
seventh 7th
8 eight
eighth 8th
9 nine
ninth 9th
10 ten
tenth 10th
11 eleven
12 twelve
20 twenty
100 hundred
1000 thousand
mother mom mum mommy mummy mama
father dad daddy papa
grandmother grandma granny
grandfather grandpa grandad
picture photo photograph pic
bicycle bike
telephone phone
television tv telly
refrigerator fridge
airplane aeroplane plane
automobile car auto
movie film
apartment flat
vacation holiday
store shop
laboratory lab
university uni
mathematics math maths
advertisement ad advert
okay ok
hello hi hey
color colour
favorite favourite
center centre
gray grey
organization organisation org
license licence
doctor dr
street st
versus vs
application app
repository repo
configuration config
information info
documentation doc docs
specification spec specs
database db
environment env
administrator admin
kubernetes k8s
internationalization i18n
`
