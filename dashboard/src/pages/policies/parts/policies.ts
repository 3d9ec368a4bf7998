/** Policies as `/admin/policies` returns them, and which of them apply to a request. */
import { useResource } from '../../../api/live.ts';

export interface Principals {
  readonly anonymous?: true;
  readonly authenticated?: true;
  readonly roles?: readonly string[];
  readonly users?: readonly string[];
  readonly keys?: readonly string[];
}

export interface Policy {
  readonly name: string;
  readonly resources: readonly string[];
  readonly actions: readonly string[];
  readonly principals?: Principals;
  readonly effect: 'allow' | 'deny';
  readonly filter?: Readonly<Record<string, unknown>>;
  readonly fields?: { readonly read?: readonly string[]; readonly write?: readonly string[] };
  readonly set?: Readonly<Record<string, unknown>>;
  readonly mode?: 'development' | 'production';
}

export interface SavedPolicy extends Policy {
  readonly id: string;
}

export interface PolicySet {
  readonly version: number;
  readonly policies: readonly SavedPolicy[];
}

export interface PolicyVersion extends PolicySet {
  readonly at: string;
  readonly by: string | null;
}

/** The initial policy of a new instance in development mode. */
export const OPEN_ID = 'open-in-development';

/** Resources that are not in `*`, with their actions. */
export const ACTIONS_OF: Readonly<Record<string, readonly string[]>> = {
  _functions: ['call'],
  // To read one file by its URL, without listing the others.
  _files: ['get', 'read', 'create', 'update', 'delete'],
};
export const DOCUMENT_ACTIONS = ['read', 'create', 'update', 'delete'] as const;

const FOLLOWED = ['system.policy.*'];

export function usePolicies() {
  return useResource<PolicySet>('/admin/policies', FOLLOWED);
}

/** Newest first. */
export function useVersions() {
  return useResource<readonly PolicyVersion[]>('/admin/policies/versions', FOLLOWED);
}

/** A policy without its id, as saved. */
export function withoutId({ id: _, ...policy }: SavedPolicy): Policy {
  return policy;
}

/** `everyone`, or its principals: `anonymous, role author`. */
export function principalsInWords(principals: Principals | undefined): string {
  if (principals === undefined) return 'everyone';
  const { anonymous, authenticated, roles = [], users = [], keys = [] } = principals;
  return [
    ...(anonymous ? ['anonymous'] : []),
    ...(authenticated ? ['signed in'] : []),
    ...roles.map((role) => `role ${role}`),
    ...users.map((user) => `user ${user}`),
    ...keys.map((key) => `key ${key}`),
  ].join(', ');
}

/** The condition in one line; `all documents` without one. */
export function filterInWords({ filter }: Policy): string {
  return filter === undefined || Object.keys(filter).length === 0 ? 'all documents' : JSON.stringify(filter);
}
