/** Letters over HTTP for those who run the installation: what they say, and what came of them. Not here: sending (auth/letters). */
import type { FastifyInstance } from 'fastify';
import type { Users } from '../../auth/accounts/users.ts';
import { requireAccount } from '../../auth/http/requests.ts';
import { stampBy } from '../../auth/identity/principal.ts';
import { LANGUAGE_NAMES, type LanguageName } from '../../auth/letters/languages/languages.ts';
import {
  isLetterKind,
  LETTER_KINDS,
  LETTER_STATES,
  LETTERS,
  type LetterKind,
} from '../../auth/letters/languages/letter-kinds.ts';
import { defaultTemplate, type LetterTemplates, requireUsable } from '../../auth/letters/letter-templates.ts';
import type { Outbox } from '../../auth/letters/outbox.ts';
import { filled, type LetterTemplate } from '../../auth/letters/template.ts';
import type { TestLetters } from '../../auth/letters/test-letters.ts';
import type { FreshSignIns } from '../../auth/sign-in/fresh-sign-ins.ts';
import { MillraceError } from '../../kernel/errors.ts';
import { checked } from '../../kernel/parse-body.ts';
import { enterAt } from '../../policies/http/enter-at.ts';
import type { Policies } from '../../policies/policies.ts';
import { parseListQuery } from '../list-query.ts';
import { LETTER_OPERATIONS } from './letter-operations.ts';
import { LETTER_DRAFT, type ListedLetter, type ShownLetterTemplate, TEMPLATE } from './letter-shapes.ts';

export interface LetterRoutesOptions {
  readonly policies: Policies;
  readonly users: Users;
  readonly letterTemplates: LetterTemplates;
  readonly testLetters: TestLetters;
  readonly outbox: Outbox;
  readonly fresh: FreshSignIns;
}

interface OnLetter {
  Params: { kind: string; language: string };
}

const URL = '/admin/letters';
const ONE = `${URL}/:kind/:language`;

export async function letterRoutes(app: FastifyInstance, options: LetterRoutesOptions): Promise<void> {
  const { policies, users, letterTemplates, testLetters, outbox, fresh } = options;
  const enter = enterAt(policies, 'admin:accounts');

  const listed = (kind: LetterKind, language: LanguageName): ListedLetter => {
    const { template, updatedAt } = letterTemplates.find(kind, language);
    const changedAt = updatedAt?.toISOString() ?? null;
    return { kind, language, about: LETTERS[kind].about, subject: template.subject, changedAt };
  };
  const shown = (kind: LetterKind, language: LanguageName): ShownLetterTemplate => {
    const { variables, needs } = LETTERS[kind];
    return {
      ...listed(kind, language),
      ...letterTemplates.find(kind, language).template,
      defaults: defaultTemplate(kind, language),
      variables: Object.entries(variables).map(([name, variable]) => ({ name, ...variable })),
      needs: [...needs],
    };
  };
  /** What was sent, in the place of what is in force, with sample values. */
  const sample = (kind: LetterKind, language: LanguageName, draft: Partial<LetterTemplate>): LetterTemplate => {
    const template = { ...letterTemplates.find(kind, language).template, ...draft };
    requireUsable(kind, template);
    const samples = Object.entries(LETTERS[kind].variables).map(([name, variable]) => [name, variable.sample]);
    return filled(template, Object.fromEntries(samples));
  };

  app.get(URL, { config: LETTER_OPERATIONS.list }, async (request) => {
    enter(request, 'read');
    return LETTER_KINDS.flatMap((kind) => LANGUAGE_NAMES.map((language) => listed(kind, language)));
  });

  app.get(`${URL}/sent`, { config: LETTER_OPERATIONS.sent }, async (request) => {
    policies.scope(request.principal, 'read', 'admin:accounts');
    const { limit, after, chosen } = parseListQuery(request, 'state');
    const wanted = chosen('state');
    const state = LETTER_STATES.find((one) => one === wanted);
    if (wanted !== null && state === undefined) {
      throw new MillraceError('invalid-parameter', `'state' must be one of ${LETTER_STATES.join(', ')}`);
    }
    if (after !== null) throw new MillraceError('unknown-parameter', "The list has one page: there is no 'after'");
    return outbox.list(state ?? null, limit);
  });

  app.get<OnLetter>(ONE, { config: LETTER_OPERATIONS.get }, async (request) => {
    enter(request, 'read');
    return shown(...named(request.params));
  });

  app.put<OnLetter>(ONE, { config: LETTER_OPERATIONS.replace }, async (request) => {
    const stamp = stampBy(enter(request, 'update'), request.id);
    // A letter carries links that sign in, so who changes it could have them sent elsewhere.
    await fresh.require(request.principal);
    const one = named(request.params);
    await letterTemplates.replace(...one, checked(TEMPLATE, request.body), stamp);
    return shown(...one);
  });

  app.delete<OnLetter>(ONE, { config: LETTER_OPERATIONS.reset }, async (request, reply) => {
    const stamp = stampBy(enter(request, 'update'), request.id);
    await letterTemplates.reset(...named(request.params), stamp);
    return reply.code(204).send();
  });

  app.post<OnLetter>(`${ONE}/preview`, { config: LETTER_OPERATIONS.preview }, async (request) => {
    enter(request, 'read');
    return sample(...named(request.params), checked(LETTER_DRAFT, request.body));
  });

  app.post<OnLetter>(`${ONE}/test`, { config: LETTER_OPERATIONS.test }, async (request) => {
    const { principal } = enter(request, 'update');
    const letter = sample(...named(request.params), checked(LETTER_DRAFT, request.body));
    return testLetters.send(await users.get(requireAccount(principal).id), letter);
  });
}

/** @throws MillraceError `document-not-found` */
function named({ kind, language }: OnLetter['Params']): [LetterKind, LanguageName] {
  const known = LANGUAGE_NAMES.find((name) => name === language);
  if (isLetterKind(kind) && known !== undefined) return [kind, known];
  throw new MillraceError('document-not-found', 'There is no such letter', {
    hint: `Kinds: ${LETTER_KINDS.join(', ')}. Languages: ${LANGUAGE_NAMES.join(', ')}`,
  });
}
