/** What went wrong, in the words of the server. */
import { Alert, Button, Code, Group, List, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { Problem } from '../../../client/client.ts';
import { PageLink } from './page-link.tsx';

/** @param again what tries again; absent where trying again is of no use */
export function Failure({ error, again }: { readonly error: unknown; readonly again?: (() => void) | undefined }) {
  const { title, detail, hint, faults, request, lacksFactor } = wordsOf(error);
  return (
    <Alert color="red" variant="light" title={title} role="alert">
      {detail === null ? null : <Text size="sm">{detail}</Text>}
      {faults.length === 0 ? null : (
        <List size="sm">
          {faults.map(({ pointer, detail: what }) => (
            <List.Item key={`${pointer} ${what}`}>
              {pointer === '' ? null : <Code>{pointer}</Code>} {what}
            </List.Item>
          ))}
        </List>
      )}
      {hint === null ? null : <Text size="sm">{hint}</Text>}
      {lacksFactor ? (
        <PageLink to="/account" size="sm">
          Set up your second factor
        </PageLink>
      ) : null}
      {request === null && again === undefined ? null : (
        <Group mt="xs" gap="md">
          {again === undefined ? null : (
            <Button size="xs" variant="default" onClick={again}>
              Try again
            </Button>
          )}
          {request === null ? null : (
            <Text size="xs" c="dimmed">
              Request <Code>{request}</Code>
            </Text>
          )}
        </Group>
      )}
    </Alert>
  );
}

/** Shows a failure for a moment, for what was done without a form. */
export function tellFailure(error: unknown): void {
  const { title, detail, hint } = wordsOf(error);
  notifications.show({
    color: 'red',
    title,
    message: [detail, hint].filter((part) => part !== null).join(' '),
    autoClose: 10_000,
  });
}

interface Words {
  readonly title: string;
  readonly detail: string | null;
  readonly hint: string | null;
  readonly faults: readonly { readonly pointer: string; readonly detail: string }[];
  /** The id of the request, which the server's log names too. */
  readonly request: string | null;
  /** The account has to get a second factor, which has a page here. */
  readonly lacksFactor: boolean;
}

function wordsOf(error: unknown): Words {
  if (!(error instanceof Problem)) {
    const told = error instanceof Error ? error.message : String(error);
    const detail = error instanceof TypeError ? 'The server cannot be reached. Is it running?' : told;
    return { title: 'It did not work', detail, hint: null, faults: [], request: null, lacksFactor: false };
  }
  const { title, detail, hint, errors = [], ...rest } = error.problem;
  const id: unknown = Reflect.get(rest, 'request');
  const faults = errors.filter((fault) => fault.detail !== detail || errors.length > 1);
  const lacksFactor = error.code === 'factor-required';
  return {
    title,
    detail: detail ?? null,
    // That of the server is for programs.
    hint: lacksFactor ? null : (hint ?? null),
    faults,
    request: typeof id === 'string' ? id : null,
    lacksFactor,
  };
}
