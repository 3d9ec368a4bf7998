/** The tester: what the policies decide about a principal, an action and a document. */
import { Button, Group, NativeSelect, SimpleGrid, Stack, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { request } from '../../api/client.ts';
import { useKnownRoles, usePlaces } from '../../api/known-names.ts';
import { useRights } from '../../api/rights.ts';
import { ChooseKey, ChooseUser } from '../../parts/accounts/choose-account.tsx';
import { faultOfJson, parseJson } from '../../parts/code/json-text.ts';
import { Failure } from '../../parts/failure.tsx';
import { JsonField } from '../../parts/forms/json-field.tsx';
import { NamesInput } from '../../parts/names-input.tsx';
import { useAction } from '../../parts/use-action.ts';
import type { PolicySet } from './parts/policies.ts';
import type { ChangePlace, PoliciesSearch } from './parts/route.ts';
import { principalOf, type TrialPrincipal } from './principals.ts';
import { type Judged, VerdictShown } from './verdict-shown.tsx';
import { actionsOf } from './verdicts.ts';

interface TesterProps {
  readonly set: PolicySet;
  readonly search: PoliciesSearch;
  readonly change: ChangePlace;
}

const KINDS = ['anonymous', 'user', 'key', 'function', 'owner'] as const;

export function Tester({ set, search, change }: TesterProps) {
  const start: TrialPrincipal = principalOf(search.principal ?? '')?.trial ?? { kind: 'user' };
  const [kind, setKind] = useState(start.kind);
  const [id, setId] = useState(start.id ?? '');
  const [roles, setRoles] = useState<string[]>([...(start.roles ?? [])]);
  const [claims, setClaims] = useState('{}');
  const [document, setDocument] = useState('{\n  \n}');
  const [before, setBefore] = useState('');
  const [judged, setJudged] = useState<Judged | null>(null);
  const { busy, error, run } = useAction();
  /** The account or key that the person has chosen. */
  const [like, setLike] = useState<string | null>(null);
  const { accounts } = useRights();
  const knownRoles = useKnownRoles();
  const places = usePlaces();
  const place = search.place ?? places[0] ?? '';
  const actions = [...actionsOf(place), ...(place === 'files' ? ['get'] : [])];
  const action = actions.includes(search.action ?? '') ? (search.action ?? '') : (actions[0] ?? '');
  const texts = [claims, document, before].map((text) => (text.trim() === '' ? null : faultOfJson(text)));
  const isReady = texts.every((fault) => fault === null) && place !== '';

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
      collection: place,
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
          It decides as real requests do, and changes nothing. Without a document it answers about the place as a whole.
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
            label="Place"
            data={[...new Set([...places, place])]}
            value={place}
            onChange={({ currentTarget }) => change({ place: currentTarget.value }, true)}
          />
        </Group>
        {accounts && kind === 'user' ? (
          <ChooseUser
            label="Like this user"
            description="Fills in the id, roles and claims that the account has now"
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
            label="Like this key"
            description="Fills in the id and the roles that the key has now"
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
              description="What $user.id is"
              value={id}
              onChange={({ currentTarget }) => setId(currentTarget.value)}
              autoComplete="off"
            />
            <NamesInput
              label="Roles"
              description="Enter adds one"
              data={[...knownRoles]}
              value={roles}
              onChange={setRoles}
            />
          </SimpleGrid>
        )}
        {kind === 'user' ? (
          <JsonField label="Claims" about="What $user.claims is" value={claims} onChange={setClaims} lines={2} />
        ) : null}
        <JsonField
          label="Document"
          about={action === 'update' ? 'After the change' : 'The document that it is about'}
          value={document}
          onChange={setDocument}
          lines={5}
        />
        {action === 'update' ? (
          <JsonField
            label="Document before the change"
            about="Empty: the same as after it"
            value={before}
            onChange={setBefore}
            lines={3}
          />
        ) : null}
        <Group>
          <Button type="submit" loading={busy} disabled={!isReady}>
            Try it
          </Button>
        </Group>
        {error === null ? null : <Failure error={error} />}
        {judged === null || error !== null ? null : <VerdictShown judged={judged} policies={set.policies} />}
      </Stack>
    </form>
  );
}
