/** Words of this project that a standard term of the field has replaced. */

/**
 * - `names`: file names, identifiers, and names in quotes or code (error codes, settings, routes, commands, labels).
 * - `prose`: these, and also running text: docs, comments, messages, test titles.
 */
export type Scope = 'names' | 'prose';

export interface RetiredWord {
  /** In lower case with blanks: `held bytes` matches `heldBytes`, `HELD_BYTES`, `held-bytes` and "held bytes". */
  readonly word: string;
  readonly use: string;
  readonly scope: Scope;
  /** Files in which the word may still stand, such as names of third parties. */
  readonly allowed?: RegExp;
}

export const RETIRED_WORDS: readonly RetiredWord[] = [
  ...names([
    ['answer too large', 'response-too-large'],
    ['ask for link', 'sendMagicLink'],
    ['befores', 'write hooks'],
    ['blanking', 'redaction'],
    ['by letter', 'magic link'],
    ['claims told', 'userinfo'],
    ['codes renewed', 'recovery-codes-regenerated'],
    ['crons', 'cron jobs'],
    ['delivery dead', 'delivery.failed'],
    ['ended at', 'finishedAt'],
    ['enter by code', 'verifyOtp'],
    ['enter by link', 'verifyMagicLink'],
    ['event log age', 'event retention'],
    ['factor exists', 'mfa-already-enrolled'],
    ['factor not begun', 'mfa-enrollment-not-started'],
    ['factor required', 'mfa-enrollment-required'],
    ['finish sign in', 'completeSignIn'],
    ['flow proofs', 'authorization proofs'],
    ['flow unusable', 'sign-in-expired'],
    ['fresh sign in', 'reauthentication'],
    ['function parked', 'run.failed'],
    ['functions off', 'functions-disabled'],
    ['holdings', 'subscription memory'],
    ['identity joined', 'identity.linked'],
    ['invalid credential', 'invalid-token'],
    ['joined at', 'linkedAt'],
    ['judgement', 'verification'],
    ['kept tokens', 'provider tokens'],
    ['key ring', 'signing keys'],
    ['last way in', 'last-sign-in-method'],
    ['letter kind', 'email kind'],
    ['letter template', 'email template'],
    ['link unusable', 'link-expired'],
    ['log refused', 'recorder.stopped'],
    ['looked as', 'impersonated'],
    ['looking as', 'impersonation'],
    ['made at', 'createdAt'],
    ['made samples', 'synthetic samples'],
    ['maker', 'creator'],
    ['makers', 'creators'],
    ['millrace folder', 'millrace data dir'],
    ['millrace language', 'millrace default locale'],
    ['millrace mail', 'millrace email'],
    ['millrace owner', 'millrace admin'],
    ['millrace redirects', 'millrace redirect urls'],
    ['owner mfa', 'admin mfa'],
    ['password refused', 'weak-password'],
    ['plugin book', 'plugin registry'],
    ['policy book', 'policy registry'],
    ['proved user', 'verified identity'],
    ['provider answer refused', 'provider-response-invalid'],
    ['refused by function', 'rejected-by-function'],
    ['run not repeatable', 'rerun-not-possible'],
    ['seal', 'encrypt'],
    ['sealed', 'encrypted'],
    ['sealer', 'encryption'],
    ['second question', 'mfa challenge'],
    ['second step', 'mfa gate'],
    ['seen writes', 'hook pipeline'],
    ['shape members', 'schema fields'],
    ['sign in failed', 'invalid-credentials'],
    ['sign in link off', 'magic-link-disabled'],
    ['signed address', 'signed url'],
    ['single use', 'one-time tokens'],
    ['slow list ms', 'slow query ms'],
    ['too much held', 'client-memory-exceeded'],
    ['trial', 'simulation'],
    ['turnstile', 'fair yield'],
    ['unsupported key', 'unsupported-field-name'],
    ['wanted events', 'event filter'],
    ['wanted index', 'suggested index'],
    ['way in changed', 'sign-in-method-changed'],
  ]),
  ...prose([
    ['are told', 'are notified'],
    ['in force', 'active, enabled'],
    ['is told', 'is notified'],
    ['looks as', 'impersonates'],
    ['mend', 'fix'],
    ['mended', 'fixed'],
    ['mends', 'fixes'],
    ['not here', 'say what the file holds'],
    ['stranger', 'anonymous client, attacker'],
    ['strangers', 'anonymous clients, attackers'],
    ['whoever', 'who, or the passive'],
  ]),
];

function names(rows: readonly (readonly [string, string])[]): RetiredWord[] {
  return rows.map(([word, use]) => ({ word, use, scope: 'names' }));
}

function prose(rows: readonly (readonly [string, string])[]): RetiredWord[] {
  return rows.map(([word, use]) => ({ word, use, scope: 'prose' }));
}
