/** Fields that find a user or an API key by name, for administrators who can read them. */
import { Select, type SelectProps } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useState } from 'react';
import { withQuery } from '../../api/client.ts';
import { useResource } from '../../api/live.ts';

/** Users that one search lists. */
const FOUND = 20;

export interface FoundUser {
  readonly id: string;
  readonly kind: 'user' | 'admin';
  readonly username: string | null;
  readonly email: string | null;
  readonly roles: readonly string[];
  readonly claims: Readonly<Record<string, unknown>>;
}

export interface FoundKey {
  readonly id: string;
  readonly name: string;
  readonly roles: readonly string[];
}

interface ChooseProps<T> extends Omit<SelectProps, 'data' | 'onChange' | 'value' | 'searchable' | 'onSearchChange'> {
  /** The id of the selected one. */
  readonly value: string | null;
  readonly onChange: (id: string | null, found: T | undefined) => void;
}

export function ChooseUser({ value, onChange, ...props }: ChooseProps<FoundUser>) {
  const [typed, setTyped] = useState('');
  const [search] = useDebouncedValue(typed, 200);
  const path = withQuery('/admin/users', {
    limit: FOUND,
    search: search === '' || value !== null ? undefined : search,
  });
  const { data = [] } = useResource<readonly FoundUser[]>(path);
  return (
    <Select
      label="User"
      placeholder="Name or e-mail address"
      {...props}
      searchable
      data={data.map(({ id, username, email, roles }) => ({
        value: id,
        label: [username ?? email ?? id, roles.join(', ')].filter((part) => part !== '').join(' · '),
      }))}
      value={value}
      onChange={(id) =>
        onChange(
          id,
          data.find((one) => one.id === id),
        )
      }
      onSearchChange={setTyped}
    />
  );
}

export function ChooseKey({ value, onChange, ...props }: ChooseProps<FoundKey>) {
  const { data = [] } = useResource<readonly FoundKey[]>('/admin/keys');
  return (
    <Select
      label="Key"
      placeholder="Name of the key"
      {...props}
      searchable
      data={data.map(({ id, name }) => ({ value: id, label: name }))}
      value={value}
      onChange={(id) =>
        onChange(
          id,
          data.find((one) => one.id === id),
        )
      }
    />
  );
}
