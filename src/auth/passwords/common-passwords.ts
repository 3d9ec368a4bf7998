/**
 * Passwords that an attacker tries first: those of eight characters and more at the top of every published count of
 * leaked passwords. Shorter ones are rejected by their length already.
 */
const WORDS = `
password password1 password12 password123 password1234 passw0rd passw0rd1 p@ssw0rd p@ssword p@ssword1 pa$$word
12345678 123456789 1234567890 12345678910 0123456789 123123123 87654321 987654321 0987654321 11223344 1122334455
12341234 123454321 1234512345 123456123456 123321123 147258369 147852369 159357456 123698745 741852963 789456123
123abc456 1234abcd 1234qwer 12qwaszx 123qweasd 123qweasdzxc 123456qwerty 123456abc 123456789a 12345678a a12345678
a123456789 a1234567 aa123456 aa12345678 abc12345 abc123456 abc123456789 abcd1234 abcd12345 abcdefgh abcdefghi abcdef123
asd12345 asdasdasd asdf1234 asdfasdf asdfghjk asdfghjkl asdfghjkl1 asdqwe123 qazwsxedc qazwsx123 1qaz2wsx 1qaz2wsx3edc
1q2w3e4r 1q2w3e4r5t 1q2w3e4r5t6y q1w2e3r4 q1w2e3r4t5 q1w2e3r4t5y6 qweasdzxc qweasd123 qwer1234 qwerasdf qwerty12
qwerty123 qwerty1234 qwerty12345 qwerty123456 qwertyui qwertyuiop qwertyuiop1 zaq12wsx zaq1zaq1 zxcvbnm1 zxcvbnm123
zxcvbnm, zxcvbnma azertyui azertyuiop qwertzui qwertzuiop iloveyou iloveyou1 iloveyou2 iloveyou12 iloveme1 loveyou1
letmein1 letmein12 letmein123 welcome1 welcome12 welcome123 welcome1234 trustno1 sunshine sunshine1 princess princess1
football football1 baseball baseball1 basketball superman superman1 batman123 spiderman starwars starwars1 pokemon1
pokemon123 dragon123 dragonball monkey12 monkey123 shadow12 shadow123 master12 master123 michael1 michelle jennifer
jessica1 jonathan charlie1 charlie123 computer computer1 internet internet1 whatever whatever1 changeme changeme1
changeme123 default1 default123 administrator admin123 admin1234 admin12345 admin123456 adminadmin rootroot root1234
toor1234 test1234 test12345 testtest testing1 testing123 guest1234 user1234 username login123 secret123 topsecret
hello123 hello1234 hellohello freedom1 forever1 samantha samsung1 samsung123 liverpool liverpool1 chelsea1 arsenal1
barcelona manchester juventus realmadrid chocolate chocolate1 butterfly butterfly1 cristina alexander alexandra
elizabeth victoria veronica danielle benjamin nicholas christian christopher anthony1 patricia margarita mercedes
corvette mustang1 ferrari1 porsche1 midnight midnight1 killer123 hunter12 hunter123 blink182 metallica slipknot
nirvana1 september november december october1 summer12 summer123 winter12 winter123 spring123 autumn123 sommer123
monday123 america1 australia 12345qwert 54321qwert q1234567 q12345678 w1234567 z1234567 zz123456 qq123456 ww123456
qq123456789 woaini1314 woaini520 5201314520 1314520520 asdf12345 asdfjkl; jordan23 jordan123 michael123 ashley123
daniel123 andrew123 joshua123 matthew1 william1 thomas123 robert123 jessica123 nicole123 hannah123 babygirl babygirl1
baby1234 lovelove lovers123 mylove123 sweetheart beautiful beautiful1 precious passport passport1 master1234
letmeinnow opensesame openopen qwe123456 qwe12345 qweqweqwe 1qazxsw2 !qaz2wsx 1qaz@wsx zxc12345 zxc123456 zxczxczxc
00000000 11111111 22222222 33333333 44444444 55555555 66666666 77777777 88888888 99999999 000000000 111111111
1111111111 0000000000 12121212 13131313 69696969 10203040 1020304050 01010101 11111111a aaaaaaaa a1b2c3d4 a1b2c3d4e5
1a2b3c4d 1a2b3c4d5e google123 facebook facebook1 linkedin1 linkedin123 twitter1 youtube1 minecraft fortnite roblox123
nintendo playstation pepsi123 cocacola heineken budweiser marlboro snowball snickers tinkerbell scooby123 garfield
mickey123 pikachu1 naruto123 doraemon dolphin1 elephant penguin1 panther1 tiger123 lion1234 eagle123 falcon123
startrek matrix123 godfather terminator correcthorsebatterystaple
`;

export const COMMON_PASSWORDS: ReadonlySet<string> = new Set(WORDS.split(/\s+/).filter((word) => word !== ''));
