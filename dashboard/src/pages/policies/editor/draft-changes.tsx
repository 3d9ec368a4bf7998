/** What saving the policy would change, for the newest events and the open subscriptions, before it is saved. */
import { Alert, Badge, Code, Group, List, Stack, Text, Title } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, type UseQueryResult, useQuery } from '@tanstack/react-query';
import { request } from '../../../api/client.ts';
import { useSession } from '../../../api/live.ts';
import { Failure } from '../../../parts/failure.tsx';
import { numberText } from '../../../parts/numbers.ts';
import type { Policy } from '../parts/policies.ts';

interface Example {
  readonly event: string;
  readonly type: string;
  readonly collection: string | null;
  readonly documentId: string | null;
  readonly principal: string;
  readonly members?: readonly string[];
}

interface Changes {
  readonly count: number;
  readonly examples: readonly Example[];
}

/** The answer of `/admin/policies/draft`. */
interface Effect {
  readonly warnings?: readonly string[];
  readonly events: { readonly looked: number; readonly complete: boolean };
  readonly principals: { readonly looked: readonly string[]; readonly complete: boolean };
  readonly visible: Changes;
  readonly hidden: Changes;
  readonly changed: Changes;
  readonly subscriptions: {
    readonly open: number;
    readonly affected: number;
    readonly by: readonly { readonly principal: string; readonly collection: string | null; readonly count: number }[];
  };
}

/** A pause in writing, in milliseconds, after which the server is asked. */
const PAUSE_MS = 500;
const SHOWN = 5;

export type Tried = UseQueryResult<Effect>;

/** Asks what the policy would change, a moment after each change of it. */
export function useDraft(id: string, policy: Policy | null, isAsked: boolean): Tried {
  const { turn } = useSession();
  const [body] = useDebouncedValue(policy === null ? null : JSON.stringify({ id, policy }), PAUSE_MS);
  return useQuery({
    queryKey: ['draft', turn, body],
    enabled: isAsked && body !== null,
    retry: false,
    placeholderData: keepPreviousData,
    queryFn: async () =>
      (await request<Effect>('POST', '/admin/policies/draft', { body: JSON.parse(body ?? '') })).body,
  });
}

/** What would change without a policy, for the question before it is deleted. */
export function DeleteChanges({ id }: { readonly id: string }) {
  const body = { id, policy: null };
  const { data } = useQuery({
    queryKey: ['draft', body],
    // The events have moved on by the next time.
    gcTime: 0,
    queryFn: async () => (await request<Effect>('POST', '/admin/policies/draft', { body })).body,
  });
  return data === undefined ? null : <EffectShown effect={data} />;
}

interface DraftChangesProps {
  readonly tried: Tried;
  /** False where the same refusal stands elsewhere. */
  readonly isRefusalShown: boolean;
}

export function DraftChanges({ tried: { data, error }, isRefusalShown }: DraftChangesProps) {
  return (
    <Stack gap="sm" aria-live="polite">
      <Title order={3} size="h4">
        What saving would change
      </Title>
      {error === null ? null : isRefusalShown ? <Failure error={error} /> : null}
      {data === undefined || error !== null ? (
        error === null && (
          <Text size="sm" c="dimmed">
            Write a policy, and see here what it would change for the newest 1,000 events and the open subscriptions.
          </Text>
        )
      ) : (
        <EffectShown effect={data} />
      )}
    </Stack>
  );
}

function EffectShown({ effect }: { readonly effect: Effect }) {
  const { warnings = [], events, principals, visible, hidden, changed, subscriptions } = effect;
  const isComplete = events.complete && principals.complete;
  return (
    <>
      {warnings.map((warning) => (
        <Alert key={warning} color="yellow" title="Probably not meant">
          {warning}
        </Alert>
      ))}
      <ChangesShown title="would be seen that are not seen now" changes={visible} sign="+" />
      <ChangesShown title="would no longer be seen" changes={hidden} sign="−" />
      <ChangesShown title="would show other members" changes={changed} sign="~" />
      <Text size="sm">
        <b>{numberText(subscriptions.affected)}</b> of {numberText(subscriptions.open)} open subscriptions would change
        {subscriptions.by.length === 0 ? '.' : ':'}
      </Text>
      {subscriptions.by.length === 0 ? null : (
        <List size="sm">
          {subscriptions.by.slice(0, SHOWN).map(({ principal, collection, count }) => (
            <List.Item key={`${principal} ${collection}`}>
              {principal}: {numberText(count)} to {collection ?? 'events'}
            </List.Item>
          ))}
        </List>
      )}
      <Text size="xs" c="dimmed">
        From the newest {numberText(events.looked)} events, each for {principals.looked.length} principals (
        {principals.looked.slice(0, SHOWN).join(', ')}
        {principals.looked.length > SHOWN ? ', …' : ''}).
        {isComplete ? '' : ' Not all could be looked at in time.'} What they may write is not a part of it: use the
        tester.
      </Text>
    </>
  );
}

interface ChangesShownProps {
  readonly title: string;
  readonly changes: Changes;
  readonly sign: string;
}

function ChangesShown({ title, changes: { count, examples }, sign }: ChangesShownProps) {
  return (
    <Stack gap={4}>
      <Group gap="xs" wrap="nowrap" align="flex-start">
        <Badge variant="default" style={{ flexShrink: 0 }}>
          {sign} {numberText(count)}
        </Badge>
        <Text size="sm">events {title}</Text>
      </Group>
      {examples.length === 0 ? null : (
        <List size="sm">
          {examples.slice(0, SHOWN).map(({ event, type, documentId, principal, members }) => (
            <List.Item key={`${event} ${principal}`}>
              {principal}: {type} <Code>{documentId ?? event}</Code>
              {members === undefined ? '' : ` (${members.join(', ')})`}
            </List.Item>
          ))}
        </List>
      )}
    </Stack>
  );
}
