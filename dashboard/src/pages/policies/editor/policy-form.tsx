/** A policy as a form. Each change makes the next state of the whole policy. */
import {
  Box,
  Checkbox,
  Group,
  NativeSelect,
  SegmentedControl,
  SimpleGrid,
  Stack,
  Text,
  TextInput,
} from '@mantine/core';
import { useState } from 'react';
import { faultOfJson } from '../../../parts/code/json-text.ts';
import { JsonField } from '../../../parts/forms/json-field.tsx';
import { NamesInput } from '../../../parts/names-input.tsx';
import type { Policy, Principals } from '../parts/policies.ts';
import { completePolicy, type KnownNames } from './completion.ts';
import { type PointedFault, placeFaults } from './json-places.ts';
import { NamedPrincipals } from './named-principals.tsx';
import classes from './policy-form.module.css';

interface PolicyFormProps {
  readonly policy: Policy;
  readonly edit: (next: Policy) => void;
  readonly faults: readonly PointedFault[];
  readonly known: KnownNames;
  readonly readOnly: boolean;
}

const ACTIONS = ['read', 'create', 'update', 'delete', 'call', 'get'];

export function PolicyForm({ policy, edit, faults, known, readOnly }: PolicyFormProps) {
  const { name, collections, actions, principals, effect, where, fields, set, mode } = policy;
  /** Members that are empty are left out of the policy. */
  const change = (next: Partial<Record<keyof Policy, unknown>>) =>
    edit(
      Object.fromEntries(
        Object.entries({ ...policy, ...next }).filter(([, value]) => value !== undefined),
      ) as unknown as Policy,
    );
  const faultAt = (pointer: string) =>
    faults.find((one) => one.pointer === pointer || one.pointer.startsWith(`${pointer}/`))?.detail ?? null;
  const changeFields = (part: 'read' | 'write', rules: readonly string[]) => {
    const next = Object.fromEntries(Object.entries({ ...fields, [part]: rules }).filter(([, one]) => one.length > 0));
    change({ fields: Object.keys(next).length === 0 ? undefined : next });
  };
  return (
    <fieldset disabled={readOnly} className={classes.form}>
      <Stack>
        <TextInput
          label="Name"
          value={name}
          error={faultAt('/name')}
          onChange={({ currentTarget }) => change({ name: currentTarget.value })}
          autoComplete="off"
        />
        <Box>
          <SegmentedControl
            aria-label="Effect"
            value={effect}
            onChange={(value) => change({ effect: value })}
            data={[
              { value: 'allow', label: 'Allow' },
              { value: 'deny', label: 'Deny' },
            ]}
          />
          <Text size="xs" c="dimmed" mt={4}>
            {effect === 'allow'
              ? 'Several allows add up.'
              : 'A deny wins over all allows: what it matches is out of reach.'}
          </Text>
        </Box>
        <NamesInput
          label="Places"
          description="Collections, * for all of them, files, functions, webhooks. Enter adds one."
          data={['*', ...known.places]}
          value={[...collections]}
          error={faultAt('/collections')}
          onChange={(value) => change({ collections: value })}
        />
        <Checkbox.Group
          label="Actions"
          value={actions.map((action) => (action === 'subscribe' ? 'read' : action))}
          error={faultAt('/actions')}
          onChange={(value) => change({ actions: value })}
        >
          <Group mt={6}>
            {ACTIONS.map((action) => (
              <Checkbox key={action} value={action} label={action} />
            ))}
          </Group>
          <Text size="xs" c="dimmed" mt={4}>
            Reading includes live data. call is for functions; get reads one file by its id.
          </Text>
        </Checkbox.Group>
        <Who
          principals={principals}
          known={known}
          change={(next) => change({ principals: next })}
          fault={faultAt('/principals')}
        />
        <JsonMember
          label="Which documents"
          about={'A filter, such as {"authorId":"$user.id"}. Empty: all. A quote " suggests members and variables.'}
          pointer="/where"
          value={where}
          faults={faults}
          known={known}
          readOnly={readOnly}
          onChange={(value) => change({ where: value })}
        />
        <NamesInput
          label="Members that are seen"
          description="* for all, -secret to hide one, or names only. Empty: all members."
          data={['*', ...known.members, ...known.members.map((member) => `-${member}`)]}
          value={[...(fields?.read ?? [])]}
          error={faultAt('/fields/read')}
          onChange={(rules) => changeFields('read', rules)}
        />
        <NamesInput
          label="Members that may be set"
          data={['*', ...known.members, ...known.members.map((member) => `-${member}`)]}
          value={[...(fields?.write ?? [])]}
          error={faultAt('/fields/write')}
          onChange={(rules) => changeFields('write', rules)}
        />
        <JsonMember
          label="Members that the policy sets"
          about={'Whatever the client sends, such as {"authorId":"$user.id"}. Empty: none.'}
          pointer="/set"
          value={set}
          faults={faults}
          known={known}
          readOnly={readOnly}
          onChange={(value) => change({ set: value })}
        />
        <NativeSelect
          label="In force"
          value={mode ?? ''}
          data={[
            { value: '', label: 'In both modes' },
            { value: 'development', label: 'In development mode only' },
            { value: 'production', label: 'In production mode only' },
          ]}
          onChange={({ currentTarget }) =>
            change({ mode: currentTarget.value === '' ? undefined : currentTarget.value })
          }
        />
      </Stack>
    </fieldset>
  );
}

interface WhoProps {
  readonly principals: Principals | undefined;
  readonly known: KnownNames;
  readonly fault: string | null;
  readonly change: (next: Principals | undefined) => void;
}

function Who({ principals = {}, known, fault, change }: WhoProps) {
  const edit = (next: Readonly<Record<string, true | readonly string[] | undefined>>) => {
    const kept = Object.entries({ ...principals, ...next }).filter(([, one]) => one === true || (one ?? []).length > 0);
    change(kept.length === 0 ? undefined : Object.fromEntries(kept));
  };
  return (
    <Stack gap="xs">
      <Checkbox.Group
        label="Who"
        description="One match is enough. With nothing chosen it is for everyone."
        error={fault}
        value={[...(principals.anonymous ? ['anonymous'] : []), ...(principals.authenticated ? ['authenticated'] : [])]}
        onChange={(value) =>
          edit({
            anonymous: value.includes('anonymous') || undefined,
            authenticated: value.includes('authenticated') || undefined,
          })
        }
      >
        <Group mt={6}>
          <Checkbox value="anonymous" label="Clients without a credential" />
          <Checkbox value="authenticated" label="Every user, key and function" />
        </Group>
      </Checkbox.Group>
      <NamesInput
        label="With one of these roles"
        data={[...known.roles]}
        value={[...(principals.roles ?? [])]}
        onChange={(roles) => edit({ roles })}
      />
      <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm" verticalSpacing="xs">
        <NamedPrincipals kind="user" label="Users" ids={principals.users ?? []} onChange={(users) => edit({ users })} />
        <NamedPrincipals kind="key" label="Keys" ids={principals.keys ?? []} onChange={(keys) => edit({ keys })} />
      </SimpleGrid>
    </Stack>
  );
}

interface JsonMemberProps {
  readonly label: string;
  readonly about: string;
  readonly pointer: '/where' | '/set';
  readonly value: Readonly<Record<string, unknown>> | undefined;
  readonly faults: readonly PointedFault[];
  readonly known: KnownNames;
  readonly readOnly: boolean;
  readonly onChange: (value: object | undefined) => void;
}

/** An object as JSON. While the text is no object, the policy keeps the last one. */
function JsonMember({ label, about, pointer, value, faults, known, readOnly, onChange }: JsonMemberProps) {
  const stored = value === undefined ? '' : JSON.stringify(value, null, 2);
  const [typed, setTyped] = useState(stored);
  const parsed = objectOf(typed);
  // A change of the policy from elsewhere, such as one that was put back, replaces what was typed.
  const isSame = parsed === undefined || JSON.stringify(parsed) === JSON.stringify(value ?? null);
  const text = isSame ? typed : stored;
  return (
    <JsonField
      label={label}
      about={about}
      lines={3}
      value={text}
      readOnly={readOnly}
      onChange={(next) => {
        setTyped(next);
        const object = objectOf(next);
        if (object !== undefined) onChange(object ?? undefined);
      }}
      faults={placeFaults(text, faults, pointer)}
      complete={completePolicy(known, [pointer.slice(1)])}
    />
  );
}

/** Null for an empty text, undefined for one that is no object. */
function objectOf(text: string): object | null | undefined {
  if (text.trim() === '') return null;
  if (faultOfJson(text) !== null) return undefined;
  const value: unknown = JSON.parse(text);
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
}
