/**
 * Detects user names that could be mistaken for one another (UTS 39): names that mix scripts, and names with the same
 * skeleton, such as `ada` with a Cyrillic or a Latin `a`, or `paypal` and `paypa1`. Pure.
 */
import { MillraceError } from '../../lib/errors.ts';
import { CONFUSABLES } from './confusables.ts';

/**
 * Scripts in everyday use (UAX 31, tables 5 and 7), frequent ones first; historic scripts do not occur in names today.
 */
const SCRIPTS = `Latin Cyrillic Greek Arabic Devanagari Hebrew Thai Adlam Armenian Balinese Bamum Batak Bengali Bopomofo
  Canadian_Aboriginal Chakma Cham Cherokee Ethiopic Georgian Gujarati Gurmukhi Han Hangul Hanifi_Rohingya Hiragana Javanese
  Kannada Katakana Kayah_Li Khmer Lao Lepcha Limbu Lisu Malayalam Mandaic Meetei_Mayek Miao Mongolian Myanmar New_Tai_Lue Newa
  Nko Nyiakeng_Puachue_Hmong Ol_Chiki Oriya Osage Saurashtra Sinhala Sundanese Syloti_Nagri Syriac Tai_Le Tai_Tham Tai_Viet
  Tamil Telugu Thaana Tibetan Tifinagh Vai Wancho Yi`.split(/\s+/);

/** Scripts that are written together (UTS 39 section 5.2, "Highly Restrictive"). */
const TOGETHER = ['Latin Han Hiragana Katakana', 'Latin Han Bopomofo', 'Latin Han Hangul'];

const patterns = new Map<string, RegExp>();

/**
 * Matches names in these scripts, with digits and signs that all scripts share. Created on first use: it takes a
 * moment.
 */
function patternOf(scripts: string): RegExp {
  const known = patterns.get(scripts);
  if (known !== undefined) return known;
  const classes = ['Common', 'Inherited', ...scripts.split(' ')].map((script) => `\\p{Script_Extensions=${script}}`);
  const created = new RegExp(`^[${classes.join('')}]*$`, 'u');
  patterns.set(scripts, created);
  return created;
}

/** Invisible characters, some of which count as letters: U+3164 is one. */
const INVISIBLE = /\p{Default_Ignorable_Code_Point}/u;

/**
 * Rejects a misleading user name.
 * @throws MillraceError `invalid-body` for one that mixes scripts or has invisible characters
 */
export function rejectMisleadingUsername(username: string): void {
  const name = username.normalize('NFKC');
  if (INVISIBLE.test(name)) throw refused('has an invisible character');
  if (![...SCRIPTS, ...TOGETHER].some((scripts) => patternOf(scripts).test(name)))
    throw refused('mixes letters of several scripts');
}

/**
 * The skeleton of a user name: two names that could be mistaken for one another have the same one (UTS 39 section 4),
 * regardless of case. It serves only comparison, and is not a name.
 * @param username as displayed
 */
export function usernameSkeleton(username: string): string {
  const emails = [...username.normalize('NFKC').normalize('NFD')];
  const forms = emails.map((email) => CONFUSABLES.get(email) ?? email);
  return forms.join('').normalize('NFD').toLowerCase();
}

function refused(issue: string): MillraceError {
  return new MillraceError('invalid-body', `The user name ${issue}`, {
    hint: 'Use letters of one script: otherwise the name could be confused with another one',
    issues: [{ pointer: '/username', code: 'invalid-body', detail: `It ${issue}` }],
  });
}
