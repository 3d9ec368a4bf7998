/**
 * The long profile of the tests (`MILLRACE_LONG=1`, test/README.md): what takes long, and what proves the same as
 * another test at more places, longer or on more machinery. A file that belongs to it as a whole is called
 * `*.long.test.ts` (scripts/test-files.ts).
 */
export const isLong = process.env['MILLRACE_LONG'] === '1';

/** Options of a test that belongs to the long profile. */
export const onlyLong = { skip: isLong ? false : 'only with MILLRACE_LONG=1' } as const;
