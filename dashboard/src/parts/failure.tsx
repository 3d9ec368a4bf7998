/** An error, in the server's words. */
import { Alert, Button, Code, Group, List, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { MillraceError } from '../../../client/client.ts';
import { PageLink } from './page-link.tsx';

/** @param again retries; absent where a retry is of no use */
export function Failure({ error, again }: { readonly error: unknown; readonly again?: (() => void) | undefined }) {
  const { title, detail, hint, issues, request, needsMfaEnrollment } = wordsOf(error);
  return (
    <Alert color="red" variant="light" title={title} role="alert">
      {detail === null ? null : <Text size="sm">{detail}</Text>}
      {issues.length === 0 ? null : (
        <List size="sm">
          {issues.map(({ pointer, detail: what }) => (
            <List.Item key={`${pointer} ${what}`}>
              {pointer === '' ? null : <Code>{pointer}</Code>} {what}
            </List.Item>
          ))}
        </List>
      )}
      {hint === null ? null : <Text size="sm">{hint}</Text>}
      {needsMfaEnrollment ? (
        <PageLink to="/account" size="sm">
          Set up your second factor
        </PageLink>
      ) : null}
      {request === null && again === undefined ? null : (
        <Group mt="xs" gap="md">
          {again === undefined ? null : (
            <Button size="xs" variant="default" onClick={again}>
              Retry
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

/** Shows an error for a moment, for actions without a form. */
export function reportFailure(error: unknown): void {
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
  readonly issues: readonly { readonly pointer: string; readonly detail: string }[];
  /** The id of the request, which is also in the server's log. */
  readonly request: string | null;
  /** The user must set up a second factor, which has a page here. */
  readonly needsMfaEnrollment: boolean;
}

function wordsOf(error: unknown): Words {
  if (!(error instanceof MillraceError)) {
    const reported = error instanceof Error ? error.message : String(error);
    const detail = error instanceof TypeError ? 'The server cannot be reached. Is it running?' : reported;
    return { title: 'Something went wrong', detail, hint: null, issues: [], request: null, needsMfaEnrollment: false };
  }
  const { title, detail, hint, errors = [], ...rest } = error.problem;
  const id: unknown = Reflect.get(rest, 'request');
  const issues = errors.filter((issue) => issue.detail !== detail || errors.length > 1);
  const needsMfaEnrollment = error.code === 'mfa-enrollment-required';
  return {
    title,
    detail: detail ?? null,
    // The server's hint is for programs.
    hint: needsMfaEnrollment ? null : (hint ?? null),
    issues,
    request: typeof id === 'string' ? id : null,
    needsMfaEnrollment,
  };
}
