/** Suggestions of the policy editor: fields of the policy and of documents, operators, variables, names. */
import type { Completion, CompletionContext, CompletionResult } from '@codemirror/autocomplete';
import { FILTER_OPERATORS } from '../../../../../src/query/filter-operators.ts';
import { ACTIONS_OF, DOCUMENT_ACTIONS } from '../parts/policies.ts';
import { scanJson } from './json-locations.ts';

const POLICY_FIELDS = ['name', 'resources', 'actions', 'principals', 'effect', 'filter', 'fields', 'set', 'mode'];
const PRINCIPALS = ['anonymous', 'authenticated', 'roles', 'users', 'keys'];
const OPERATORS = [...FILTER_OPERATORS.map((name) => `$${name}`), '$elemMatch'];
const LOGICAL = ['$and', '$or', '$nor', '$not'];
const VARIABLES: readonly Completion[] = [
  { label: '$user.id', detail: 'id of the user or key', boost: 3 },
  { label: '$user.roles', detail: 'its roles, for $in', boost: 2 },
  { label: '$user.claims.', detail: 'a claim, such as $user.claims.tenant', boost: 1 },
  { label: '$now', detail: 'the current time' },
  { label: '$now-7d', detail: 'a week ago; also ms, s, m, h, d, w and +' },
];

/** Data about the instance. */
export interface KnownNames {
  readonly fields: readonly string[];
  readonly resources: readonly string[];
  readonly roles: readonly string[];
}

/**
 * Suggests inside quotes.
 * @param root path in the policy of the text: `['filter']`, or `[]` for the whole policy
 */
export function completePolicy(known: KnownNames, root: readonly string[]) {
  return ({ state, pos }: CompletionContext): CompletionResult | null => {
    const open = scanJson(state.doc.sliceString(0, pos), () => undefined);
    if (open === null) return null;
    const path = [...root, ...open.path];
    const options = open.isName ? namesAt(path, known) : valuesAt(path, known);
    if (options.length === 0) return null;
    return {
      from: open.from,
      options: options.map((option) => ({ ...option, apply: closing(option.label, open.isName) })),
      validFor: /^[^"]*$/,
    };
  };
}

function namesAt(path: readonly string[], { fields }: KnownNames): readonly Completion[] {
  const [first, ...rest] = path;
  if (first === undefined) return labels(POLICY_FIELDS, 'property');
  if (first === 'principals') return labels(PRINCIPALS, 'property');
  if (first === 'fields') return labels(['read', 'write'], 'property');
  if (first === 'set') return labels(fields, 'property');
  if (first !== 'filter') return [];
  const inField = rest.length > 0 && !/^(?:\$|\d)/.test(rest.at(-1) ?? '');
  const ofField = [...labels(OPERATORS, 'keyword'), ...labels(['$not'], 'keyword')];
  return inField ? ofField : [...labels(fields, 'property'), ...labels(LOGICAL, 'keyword')];
}

function valuesAt([first, second]: readonly string[], { fields, resources, roles }: KnownNames): readonly Completion[] {
  if (first === 'filter' || first === 'set') return VARIABLES;
  if (first === 'resources') return labels(['*', ...resources], 'class');
  if (first === 'actions') return labels([...DOCUMENT_ACTIONS, ...Object.values(ACTIONS_OF).flat(), 'get'], 'keyword');
  if (first === 'effect') return labels(['allow', 'deny'], 'keyword');
  if (first === 'mode') return labels(['development', 'production'], 'keyword');
  if (first === 'principals' && second === 'roles') return labels(roles, 'class');
  if (first === 'fields') return labels(['*', ...fields, ...fields.map((field) => `-${field}`)], 'property');
  return [];
}

function labels(names: readonly string[], type: string): readonly Completion[] {
  return names.map((label) => ({ label, type }));
}

/** Inserts the text and its closing quote, if there is none, and after a name the colon. */
function closing(label: string, isName: boolean): NonNullable<Completion['apply']> {
  return (view, _completion, from, to) => {
    const hasQuote = view.state.doc.sliceString(to, to + 1) === '"';
    const isOpenEnded = label.endsWith('.');
    const insert = hasQuote || isOpenEnded ? label : `${label}"${isName ? ': ' : ''}`;
    view.dispatch({
      changes: { from, to, insert },
      selection: { anchor: from + insert.length },
      userEvent: 'input.complete',
    });
  };
}
