/** Creates an API key, and shows it once. */
import { Checkbox, Group, Modal, NativeSelect, Stack, TextInput } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { request } from '../../api/client.ts';
import { useKnownRoles, useResources } from '../../api/known-names.ts';
import { Failure } from '../../parts/failure.tsx';
import { FormEnd } from '../../parts/forms/form-end.tsx';
import { NamesInput } from '../../parts/names-input.tsx';
import { useAction } from '../../parts/use-action.ts';
import { KeyShown } from './new-key-secret.tsx';

const ACTIONS = ['read', 'create', 'update', 'delete', 'call'] as const;
const DAY_MS = 86_400_000;
const DAYS = [
  { value: '7', label: 'In 7 days' },
  { value: '30', label: 'In 30 days' },
  { value: '90', label: 'In 90 days' },
  { value: '365', label: 'In a year' },
  { value: '', label: 'Never' },
  { value: 'date', label: 'On a date …' },
];

interface Created {
  readonly key: string;
  readonly resources: readonly string[] | null;
}

export function NewKey({ onClose }: { readonly onClose: () => void }) {
  const { busy, error, run } = useAction();
  const [name, setName] = useState('');
  const [roles, setRoles] = useState<string[]>([]);
  const [resources, setCollections] = useState<string[]>([]);
  const [actions, setActions] = useState<string[]>([]);
  const [days, setDays] = useState('90');
  const [date, setDate] = useState('');
  const [created, setCreated] = useState<Created | null>(null);
  const knownRoles = useKnownRoles();
  const places = useResources();
  if (created !== null)
    return <KeyShown secret={created.key} resource={created.resources?.[0] ?? 'todos'} onClose={onClose} />;

  const make = async () => {
    const body = {
      name,
      roles,
      ...(resources.length === 0 ? {} : { resources }),
      ...(actions.length === 0 ? {} : { actions }),
      expiresAt: endOf(days, date),
    };
    setCreated((await request<Created>('POST', '/admin/keys', { body })).body);
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void run(make);
  };

  return (
    <Modal opened onClose={onClose} title="New key" size="lg">
      <form onSubmit={submit}>
        <Stack>
          <TextInput
            label="Name"
            description="What it is for"
            value={name}
            required
            maxLength={100}
            onChange={({ currentTarget }) => setName(currentTarget.value)}
            autoComplete="off"
            data-autofocus
          />
          <NamesInput
            label="Roles"
            description="Policies for these roles apply to the key. Press Enter to add one."
            data={[...knownRoles]}
            value={roles}
            onChange={setRoles}
          />
          <NamesInput
            label="Resources"
            description="Limits the key to these collections, _files, _functions or _webhooks. Empty: all that policies allow."
            data={[...places]}
            value={resources}
            onChange={setCollections}
          />
          <Checkbox.Group
            label="Actions"
            description="Limits the key to these actions. None: all that policies allow."
            value={actions}
            onChange={setActions}
          >
            <Group mt={6}>
              {ACTIONS.map((action) => (
                <Checkbox key={action} value={action} label={action} />
              ))}
            </Group>
          </Checkbox.Group>
          <Group align="flex-end">
            <NativeSelect
              label="Expires"
              data={DAYS}
              value={days}
              onChange={({ currentTarget }) => setDays(currentTarget.value)}
            />
            {days === 'date' ? (
              <TextInput
                label="Date"
                type="date"
                required
                value={date}
                onChange={({ currentTarget }) => setDate(currentTarget.value)}
              />
            ) : null}
          </Group>
          {error === null ? null : <Failure error={error} />}
          <FormEnd verb="Create key" busy={busy} onCancel={onClose} />
        </Stack>
      </form>
    </Modal>
  );
}

/** ISO 8601, or null for a key that does not expire. */
function endOf(days: string, date: string): string | null {
  if (days === '') return null;
  if (days === 'date') return `${date}T00:00:00Z`;
  return new Date(Date.now() + Number(days) * DAY_MS).toISOString();
}
