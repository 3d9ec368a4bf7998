/** Preview: what saving the policy would change, for the newest events and the open subscriptions. */
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
  readonly fields?: readonly string[];
}

interface Changes {
  readonly count: number;
  readonly examples: readonly Example[];
}

/** The response of `/admin/policies/preview`. */
interface Effect {
  readonly warnings?: readonly string[];
  readonly events: { readonly examined: number; readonly complete: boolean };
  readonly principals: { readonly examined: readonly string[]; readonly complete: boolean };
  readonly visible: Changes;
  readonly hidden: Changes;
  readonly changed: Changes;
  readonly subscriptions: {
    readonly open: number;
    readonly affected: number;
    readonly by: readonly { readonly principal: string; readonly collection: string | null; readonly count: number }[];
  };
}

/** The preview is requested this long after the last keystroke, in milliseconds. */
const PAUSE_MS = 500;
const SHOWN = 5;

export type Tried = UseQueryResult<Effect>;

/** Requests the effect of the policy, a moment after each change of it. */
export function useDraft(id: string, policy: Policy | null, isRequested: boolean): Tried {
  const { turn } = useSession();
  const [body] = useDebouncedValue(policy === null ? null : JSON.stringify({ id, policy }), PAUSE_MS);
  return useQuery({
    queryKey: ['draft', turn, body],
    enabled: isRequested && body !== null,
    retry: false,
    placeholderData: keepPreviousData,
    queryFn: async () =>
      (await request<Effect>('POST', '/admin/policies/preview', { body: JSON.parse(body ?? '') })).body,
  });
}

/** The effect of removing a policy, for the confirmation of its deletion. */
export function DeleteChanges({ id }: { readonly id: string }) {
  const body = { id, policy: null };
  const { data } = useQuery({
    queryKey: ['draft', body],
    // The newest events will be others by the next time.
    gcTime: 0,
    queryFn: async () => (await request<Effect>('POST', '/admin/policies/preview', { body })).body,
  });
  return data === undefined ? null : <EffectShown effect={data} />;
}

interface DraftChangesProps {
  readonly tried: Tried;
  /** False where the same error is shown elsewhere. */
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
            Edit the policy to preview what it would change for the newest 1,000 events and the open subscriptions.
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
        <Alert key={warning} color="yellow" title="Probably not intended">
          {warning}
        </Alert>
      ))}
      <ChangesShown title="would become visible" changes={visible} sign="+" />
      <ChangesShown title="would no longer be visible" changes={hidden} sign="−" />
      <ChangesShown title="would show other fields" changes={changed} sign="~" />
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
        Based on the newest {numberText(events.examined)} events, each for {principals.examined.length} principals (
        {principals.examined.slice(0, SHOWN).join(', ')}
        {principals.examined.length > SHOWN ? ', …' : ''}).
        {isComplete ? '' : ' Not all could be checked in time.'} Write permissions are not included: use the tester.
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
          {examples.slice(0, SHOWN).map(({ event, type, documentId, principal, fields }) => (
            <List.Item key={`${event} ${principal}`}>
              {principal}: {type} <Code>{documentId ?? event}</Code>
              {fields === undefined ? '' : ` (${fields.join(', ')})`}
            </List.Item>
          ))}
        </List>
      )}
    </Stack>
  );
}
