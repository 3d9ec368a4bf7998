/** A policy as a form. Each change produces the next state of the whole policy. */
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
import { issueOfJson } from '../../../parts/code/json-text.ts';
import { JsonField } from '../../../parts/forms/json-field.tsx';
import { NamesInput } from '../../../parts/names-input.tsx';
import type { Policy, Principals } from '../parts/policies.ts';
import { completePolicy, type KnownNames } from './completion.ts';
import { locateIssues, type PointedIssue } from './json-locations.ts';
import { NamedPrincipals } from './named-principals.tsx';
import classes from './policy-form.module.css';

interface PolicyFormProps {
  readonly policy: Policy;
  readonly edit: (next: Policy) => void;
  readonly issues: readonly PointedIssue[];
  readonly known: KnownNames;
  readonly readOnly: boolean;
}

const ACTIONS = ['read', 'create', 'update', 'delete', 'call', 'get'];

export function PolicyForm({ policy, edit, issues, known, readOnly }: PolicyFormProps) {
  const { name, resources, actions, principals, effect, filter, fields, set, mode } = policy;
  /** Empty fields are left out of the policy. */
  const change = (next: Partial<Record<keyof Policy, unknown>>) =>
    edit(
      Object.fromEntries(
        Object.entries({ ...policy, ...next }).filter(([, value]) => value !== undefined),
      ) as unknown as Policy,
    );
  const issueAt = (pointer: string) =>
    issues.find((one) => one.pointer === pointer || one.pointer.startsWith(`${pointer}/`))?.detail ?? null;
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
          error={issueAt('/name')}
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
              ? 'Several allow policies add up.'
              : 'A deny policy overrides all allow policies for what it matches.'}
          </Text>
        </Box>
        <NamesInput
          label="Resources"
          description="Collections, * for all of them, _files, _functions, _webhooks. Press Enter to add one."
          data={['*', ...known.resources]}
          value={[...resources]}
          error={issueAt('/resources')}
          onChange={(value) => change({ resources: value })}
        />
        <Checkbox.Group
          label="Actions"
          value={actions.map((action) => (action === 'subscribe' ? 'read' : action))}
          error={issueAt('/actions')}
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
          issue={issueAt('/principals')}
        />
        <JsonProperty
          label="Filter"
          about={
            'Documents to which the policy applies, such as {"authorId":"$user.id"}. Empty: all. A quote " suggests fields and variables.'
          }
          pointer="/filter"
          value={filter}
          issues={issues}
          known={known}
          readOnly={readOnly}
          onChange={(value) => change({ filter: value })}
        />
        <NamesInput
          label="Visible fields"
          description="* for all, -secret to hide one, or only names. Empty: all fields."
          data={['*', ...known.fields, ...known.fields.map((field) => `-${field}`)]}
          value={[...(fields?.read ?? [])]}
          error={issueAt('/fields/read')}
          onChange={(rules) => changeFields('read', rules)}
        />
        <NamesInput
          label="Writable fields"
          data={['*', ...known.fields, ...known.fields.map((field) => `-${field}`)]}
          value={[...(fields?.write ?? [])]}
          error={issueAt('/fields/write')}
          onChange={(rules) => changeFields('write', rules)}
        />
        <JsonProperty
          label="Fields set by the policy"
          about={'These override what the client sends, such as {"authorId":"$user.id"}. Empty: none.'}
          pointer="/set"
          value={set}
          issues={issues}
          known={known}
          readOnly={readOnly}
          onChange={(value) => change({ set: value })}
        />
        <NativeSelect
          label="Mode"
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
  readonly issue: string | null;
  readonly change: (next: Principals | undefined) => void;
}

function Who({ principals = {}, known, issue, change }: WhoProps) {
  const edit = (next: Readonly<Record<string, true | readonly string[] | undefined>>) => {
    const kept = Object.entries({ ...principals, ...next }).filter(([, one]) => one === true || (one ?? []).length > 0);
    change(kept.length === 0 ? undefined : Object.fromEntries(kept));
  };
  return (
    <Stack gap="xs">
      <Checkbox.Group
        label="Applies to"
        description="One match is enough. None: everyone."
        error={issue}
        value={[...(principals.anonymous ? ['anonymous'] : []), ...(principals.authenticated ? ['authenticated'] : [])]}
        onChange={(value) =>
          edit({
            anonymous: value.includes('anonymous') || undefined,
            authenticated: value.includes('authenticated') || undefined,
          })
        }
      >
        <Group mt={6}>
          <Checkbox value="anonymous" label="Anonymous clients" />
          <Checkbox value="authenticated" label="Every user, key and function" />
        </Group>
      </Checkbox.Group>
      <NamesInput
        label="Roles"
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

interface JsonFieldProps {
  readonly label: string;
  readonly about: string;
  readonly pointer: '/filter' | '/set';
  readonly value: Readonly<Record<string, unknown>> | undefined;
  readonly issues: readonly PointedIssue[];
  readonly known: KnownNames;
  readonly readOnly: boolean;
  readonly onChange: (value: object | undefined) => void;
}

/** An object as JSON. While the text is not an object, the policy keeps the last one. */
function JsonProperty({ label, about, pointer, value, issues, known, readOnly, onChange }: JsonFieldProps) {
  const stored = value === undefined ? '' : JSON.stringify(value, null, 2);
  const [typed, setTyped] = useState(stored);
  const parsed = objectOf(typed);
  // A change of the policy from elsewhere, such as a restored one, replaces the typed text.
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
      issues={locateIssues(text, issues, pointer)}
      complete={completePolicy(known, [pointer.slice(1)])}
    />
  );
}

/** Null for an empty text, undefined for one that is not an object. */
function objectOf(text: string): object | null | undefined {
  if (text.trim() === '') return null;
  if (issueOfJson(text) !== null) return undefined;
  const value: unknown = JSON.parse(text);
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
}
