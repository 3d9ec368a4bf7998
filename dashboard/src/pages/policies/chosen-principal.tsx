/** One more principal for the matrix: a user or a key, with its current roles and claims. */
import { Group, Stack } from '@mantine/core';
import { useResource } from '../../api/live.ts';
import { useRights } from '../../api/rights.ts';
import { Failure } from '../../parts/failure.tsx';
import { ChooseKey, ChooseUser } from '../../parts/users/choose-user.tsx';
import type { NamedPrincipal } from './principals.ts';

interface FoundUser {
  readonly id: string;
  readonly kind?: 'user' | 'admin';
  readonly username?: string | null;
  readonly email?: string | null;
  readonly name?: string;
  readonly roles: readonly string[];
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly resources?: readonly string[] | null;
  readonly actions?: readonly string[] | null;
}

/** @param as `user:<id>` or `key:<id>` */
export function useChosenPrincipal(as: string | undefined): {
  readonly principal: NamedPrincipal | null;
  readonly error: unknown;
} {
  const [, kind, id] = /^(user|key):(.+)$/s.exec(as ?? '') ?? [];
  const isNamed = kind !== undefined && id !== undefined;
  // Without a selection, a response that is needed anyway is requested.
  const path = isNamed ? `/admin/${kind}s/${encodeURIComponent(id)}` : '/admin/policies';
  const { data, error } = useResource<FoundUser>(path, isNamed ? [`system.${kind}.*`] : []);
  if (!isNamed || data === undefined || data.id !== id) return { principal: null, error: isNamed ? error : null };
  const { roles, claims = {}, resources, actions, username, email, name } = data;
  if (kind === 'key') {
    const limits = { ...(resources == null ? {} : { resources }), ...(actions == null ? {} : { actions }) };
    return {
      principal: { name: `key:${id}`, title: name ?? id, simulation: { kind, id, roles, ...limits } },
      error: null,
    };
  }
  const simulation =
    data.kind === 'admin' ? { kind: 'admin' as const, id, roles } : { kind: 'user' as const, id, roles, claims };
  return { principal: { name: `user:${id}`, title: username ?? email ?? id, simulation }, error: null };
}

interface ChosenPrincipalProps {
  readonly chosen: string | undefined;
  readonly error: unknown;
  readonly onChange: (as: string | undefined) => void;
}

export function ChosenPrincipal({ chosen, error, onChange }: ChosenPrincipalProps) {
  const { accounts } = useRights();
  const [, kind, id = null] = /^(user|key):(.+)$/s.exec(chosen ?? '') ?? [];
  if (!accounts) return null;
  const choose = (of: 'user' | 'key') => (found: string | null) =>
    onChange(found === null ? undefined : `${of}:${found}`);
  return (
    <Stack gap="xs">
      <Group align="flex-end" gap="xs">
        <ChooseUser
          label="Add a user to the matrix"
          value={kind === 'user' ? id : null}
          onChange={choose('user')}
          clearable
          w={300}
        />
        <ChooseKey
          label="Or an API key"
          value={kind === 'key' ? id : null}
          onChange={choose('key')}
          clearable
          w={220}
        />
      </Group>
      {error === null ? null : <Failure error={error} />}
    </Stack>
  );
}
