/** The operations on letters as the contract describes them. Not here: the routes (letter-routes.ts), the shapes (letter-shapes.ts). */
import { LANGUAGE_NAMES } from '../../auth/letters/languages/languages.ts';
import { LETTER_KINDS, LETTER_STATES } from '../../auth/letters/languages/letter-kinds.ts';
import { ASKED_ERRORS, answer, CHECKED_ERRORS, DONE, jsonBody, operation } from '../../contract/operation.ts';
import { pathParameter, queryParameter } from '../../contract/parameters.ts';
import { listOf, shape } from '../../contract/schema.ts';
import { MAIL_VERDICT_SHAPE } from '../installation/installation-operations.ts';
import { LIST_ERRORS, LIST_PARAMETERS } from '../list-query.ts';
import { LETTER, LETTER_DRAFT, LISTED_LETTER, PREVIEW, SENT_LETTER, TEMPLATE } from './letter-shapes.ts';

const tag = 'Running it';
const ONE = [
  pathParameter('kind', 'What the letter is for.', { type: 'string', enum: [...LETTER_KINDS] }),
  pathParameter('language', 'Its language.', { type: 'string', enum: [...LANGUAGE_NAMES] }),
];
const SHOWN = shape('LetterTemplate', LETTER);
const limit = LIST_PARAMETERS.filter(({ name }) => name === 'limit');

export const LETTER_OPERATIONS = {
  list: operation({
    id: 'letters.list',
    tag,
    summary: 'List the letters that this installation sends',
    answers: answer('Each kind in each language.', listOf(shape('ListedLetter', LISTED_LETTER))),
    errors: ASKED_ERRORS,
  }),
  get: operation({
    id: 'letters.get',
    tag,
    summary: 'Get a letter with its variables',
    parameters: ONE,
    answers: answer('The letter.', SHOWN),
    errors: [...ASKED_ERRORS, 'document-not-found'],
  }),
  replace: operation({
    id: 'letters.replace',
    tag,
    summary: 'Write a letter yourself',
    description: 'In force everywhere within a second.',
    parameters: ONE,
    body: jsonBody(TEMPLATE),
    answers: answer('The letter as it is now.', SHOWN),
    errors: [...CHECKED_ERRORS, 'document-not-found', 'fresh-sign-in-required'],
  }),
  reset: operation({
    id: 'letters.reset',
    tag,
    summary: 'Go back to the letter of the program',
    parameters: ONE,
    answers: DONE,
    errors: [...ASKED_ERRORS, 'document-not-found'],
  }),
  preview: operation({
    id: 'letters.preview',
    tag,
    summary: 'See a letter with sample values',
    description: 'Members that are missing are those in force. Nothing is changed.',
    parameters: ONE,
    body: jsonBody(LETTER_DRAFT),
    answers: answer('The letter.', PREVIEW),
    errors: [...CHECKED_ERRORS, 'document-not-found'],
  }),
  test: operation({
    id: 'letters.test',
    tag,
    summary: 'Send a letter with sample values to the own address',
    description: 'Members that are missing are those in force. At most one every ten seconds.',
    parameters: ONE,
    body: jsonBody(LETTER_DRAFT),
    answers: answer('Whether the letter was taken, and why not.', MAIL_VERDICT_SHAPE),
    errors: [...CHECKED_ERRORS, 'document-not-found'],
  }),
  sent: operation({
    id: 'letters.sent',
    tag,
    summary: 'List the newest letters and what came of them',
    description: 'They are kept for seven days, and hold no link and no code.',
    parameters: [
      ...limit,
      queryParameter('state', 'Only letters of this state.', { type: 'string', enum: [...LETTER_STATES] }),
    ],
    answers: answer('The newest first.', listOf(shape('SentLetter', SENT_LETTER))),
    errors: LIST_ERRORS,
  }),
};
