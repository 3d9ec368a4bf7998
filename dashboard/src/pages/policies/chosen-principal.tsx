/** One more principal for the matrix: an account or a key, with the roles and claims that it has now. */
import { Button, Group, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useResource } from '../../api/live.ts';
import { useRights } from '../../api/rights.ts';
import { Failure } from '../../parts/failure.tsx';
import type { NamedPrincipal } from './principals.ts';

interface FoundAccount {
  readonly id: string;
  readonly kind?: 'user' | 'owner';
  readonly username?: string | null;
  readonly email?: string | null;
  readonly name?: string;
  readonly roles: readonly string[];
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly collections?: readonly string[] | null;
  readonly actions?: readonly string[] | null;
}

/** @param as `user:<id>` or `key:<id>` */
export function useChosenPrincipal(as: string | undefined): {
  readonly principal: NamedPrincipal | null;
  readonly error: unknown;
} {
  const [, kind, id] = /^(user|key):(.+)$/s.exec(as ?? '') ?? [];
  const isNamed = kind !== undefined && id !== undefined;
  // Without a choice an answer that is there anyway is asked for.
  const path = isNamed ? `/admin/${kind}s/${encodeURIComponent(id)}` : '/admin/policies';
  const { data, error } = useResource<FoundAccount>(path, isNamed ? [`system.${kind}.*`] : []);
  if (!isNamed || data === undefined || data.id !== id) return { principal: null, error: isNamed ? error : null };
  const { roles, claims = {}, collections, actions, username, email, name } = data;
  if (kind === 'key') {
    const limits = { ...(collections == null ? {} : { collections }), ...(actions == null ? {} : { actions }) };
    return { principal: { name: `key:${id}`, title: name ?? id, trial: { kind, id, roles, ...limits } }, error: null };
  }
  const trial =
    data.kind === 'owner' ? { kind: 'owner' as const, id, roles } : { kind: 'user' as const, id, roles, claims };
  return { principal: { name: `user:${id}`, title: username ?? email ?? id, trial }, error: null };
}

interface ChosenPrincipalProps {
  readonly chosen: string | undefined;
  readonly error: unknown;
  readonly onChange: (as: string | undefined) => void;
}

export function ChosenPrincipal({ chosen, error, onChange }: ChosenPrincipalProps) {
  const { accounts } = useRights();
  const [typed, setTyped] = useState(chosen ?? '');
  if (!accounts) return null;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        onChange(typed === '' ? undefined : typed);
      }}
    >
      <Group align="flex-end" gap="xs">
        <TextInput
          label="Add an account or a key to the matrix"
          description="The pages Users and Keys lead here with one, too"
          placeholder="user:<id> or key:<id>"
          value={typed}
          onChange={({ currentTarget }) => setTyped(currentTarget.value.trim())}
          w={340}
          autoComplete="off"
        />
        <Button type="submit" variant="default">
          Show
        </Button>
        {chosen === undefined ? null : (
          <Button
            variant="default"
            onClick={() => {
              setTyped('');
              onChange(undefined);
            }}
          >
            Remove
          </Button>
        )}
      </Group>
      {error === null ? null : <Failure error={error} />}
    </form>
  );
}
