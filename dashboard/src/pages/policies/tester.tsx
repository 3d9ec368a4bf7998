/** The simulator: what the policies decide about a principal, an action and a document. */
import { Button, Group, NativeSelect, SimpleGrid, Stack, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { request } from '../../api/client.ts';
import { useKnownRoles, useResources } from '../../api/known-names.ts';
import { useRights } from '../../api/rights.ts';
import { issueOfJson, parseJson } from '../../parts/code/json-text.ts';
import { Failure } from '../../parts/failure.tsx';
import { JsonField } from '../../parts/forms/json-field.tsx';
import { NamesInput } from '../../parts/names-input.tsx';
import { useAction } from '../../parts/use-action.ts';
import { ChooseKey, ChooseUser } from '../../parts/users/choose-user.tsx';
import type { PolicySet } from './parts/policies.ts';
import type { ChangeSearch, PoliciesSearch } from './parts/route.ts';
import { principalOf, type SimulatedPrincipal } from './principals.ts';
import { type Judged, VerdictShown } from './verdict-view.tsx';
import { actionsOf } from './verdicts.ts';

interface TesterProps {
  readonly set: PolicySet;
  readonly search: PoliciesSearch;
  readonly change: ChangeSearch;
}

const KINDS = ['anonymous', 'user', 'key', 'function', 'admin'] as const;

export function Tester({ set, search, change }: TesterProps) {
  const start: SimulatedPrincipal = principalOf(search.principal ?? '')?.simulation ?? { kind: 'user' };
  const [kind, setKind] = useState(start.kind);
  const [id, setId] = useState(start.id ?? '');
  const [roles, setRoles] = useState<string[]>([...(start.roles ?? [])]);
  const [claims, setClaims] = useState('{}');
  const [document, setDocument] = useState('{\n  \n}');
  const [before, setBefore] = useState('');
  const [judged, setJudged] = useState<Judged | null>(null);
  const { busy, error, run } = useAction();
  /** The selected user or key. */
  const [like, setLike] = useState<string | null>(null);
  const { accounts } = useRights();
  const knownRoles = useKnownRoles();
  const resources = useResources();
  const resource = search.resource ?? resources[0] ?? '';
  const actions = actionsOf(resource);
  const action = actions.includes(search.action ?? '') ? (search.action ?? '') : (actions[0] ?? '');
  const texts = [claims, document, before].map((text) => (text.trim() === '' ? null : issueOfJson(text)));
  const isReady = texts.every((issue) => issue === null) && resource !== '';

  const judge = async () => {
    const principal = {
      kind,
      ...(kind === 'anonymous' || id === '' ? {} : { id }),
      ...(kind === 'anonymous' ? {} : { roles }),
      ...(kind === 'user' && claims.trim() !== '' ? { claims: parseJson(claims) } : {}),
    };
    const body = {
      principal,
      action,
      resource: resource,
      ...(document.trim() === '' ? {} : { document: parseJson(document) }),
      ...(action === 'update' && before.trim() !== '' ? { before: parseJson(before) } : {}),
    };
    setJudged((await request<Judged>('POST', '/admin/policies/test', { body })).body);
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void run(judge);
      }}
    >
      <Stack maw={760}>
        <Text size="sm" c="dimmed">
          Evaluates the policies as for a real request and changes nothing. Without a document, the result is for the
          resource as a whole.
        </Text>
        <Group align="flex-end">
          <NativeSelect
            label="Principal"
            data={[...KINDS]}
            value={kind}
            onChange={({ currentTarget }) => {
              setKind(KINDS.find((one) => one === currentTarget.value) ?? 'user');
              setLike(null);
            }}
          />
          <NativeSelect
            label="Action"
            data={actions}
            value={action}
            onChange={({ currentTarget }) => change({ action: currentTarget.value }, true)}
          />
          <NativeSelect
            label="Resource"
            data={[...new Set([...resources, resource])]}
            value={resource}
            onChange={({ currentTarget }) => change({ resource: currentTarget.value }, true)}
          />
        </Group>
        {accounts && kind === 'user' ? (
          <ChooseUser
            label="Copy from user"
            description="Fills in the current id, roles and claims of the user"
            clearable
            value={like}
            onChange={(chosen, found) => {
              setLike(chosen);
              if (found === undefined) return;
              setKind(found.kind);
              setId(found.id);
              setRoles([...found.roles]);
              setClaims(JSON.stringify(found.claims, null, 2));
            }}
          />
        ) : null}
        {accounts && kind === 'key' ? (
          <ChooseKey
            label="Copy from key"
            description="Fills in the current id and roles of the key"
            clearable
            value={like}
            onChange={(chosen, found) => {
              setLike(chosen);
              if (found === undefined) return;
              setId(found.id);
              setRoles([...found.roles]);
            }}
          />
        ) : null}
        {kind === 'anonymous' ? null : (
          <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm" verticalSpacing="xs">
            <TextInput
              label="Id"
              description="The value of $user.id"
              value={id}
              onChange={({ currentTarget }) => setId(currentTarget.value)}
              autoComplete="off"
            />
            <NamesInput
              label="Roles"
              description="Press Enter to add one"
              data={[...knownRoles]}
              value={roles}
              onChange={setRoles}
            />
          </SimpleGrid>
        )}
        {kind === 'user' ? (
          <JsonField label="Claims" about="The value of $user.claims" value={claims} onChange={setClaims} lines={2} />
        ) : null}
        <JsonField
          label="Document"
          about={action === 'update' ? 'After the change' : 'The document of the request'}
          value={document}
          onChange={setDocument}
          lines={5}
        />
        {action === 'update' ? (
          <JsonField
            label="Document before the change"
            about="Empty: same as after the change"
            value={before}
            onChange={setBefore}
            lines={3}
          />
        ) : null}
        <Group>
          <Button type="submit" loading={busy} disabled={!isReady}>
            Test
          </Button>
        </Group>
        {error === null ? null : <Failure error={error} />}
        {judged === null || error !== null ? null : <VerdictShown judged={judged} policies={set.policies} />}
      </Stack>
    </form>
  );
}
