/** How e-mails are sent, and a test e-mail to the user's own e-mail address. */
import { Button, Code, Group, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import type { EmailTestResult } from '../../../../src/email/http/email-schemas.ts';
import { request } from '../../api/client.ts';
import { Copyable } from '../copy.tsx';
import { Failure } from '../failure.tsx';
import { useAction } from '../use-action.ts';
import { Verdict } from './check-result.tsx';
import type { EffectiveSettings } from './effective-settings.ts';

const SETTING = 'MILLRACE_SMTP_URL=smtps://user:password@mail.example.org';

/** @param why why the user has no permission; empty with permission */
export function MailCheck({ settings, why = '' }: { readonly settings: EffectiveSettings; readonly why?: string }) {
  const { transport, server, from } = settings.email;
  const { busy, error, run } = useAction();
  const [found, setFound] = useState<EmailTestResult | null>(null);
  const send = async () => {
    setFound(null);
    setFound((await request<EmailTestResult>('POST', '/admin/emails/test')).body);
  };
  return (
    <Stack gap="sm" align="stretch">
      {transport === 'smtp' ? (
        <Text size="sm">
          E-mails are sent through <Code>{server}</Code>, from <Code>{from}</Code>
        </Text>
      ) : transport === 'terminal' ? (
        <Text size="sm">Development mode prints e-mails in the terminal of the server instead of sending them.</Text>
      ) : (
        <>
          <Verdict good={false}>
            No mail server is set, so no e-mails are sent: users cannot verify their e-mail address or reset a forgotten
            password.
          </Verdict>
          <Copyable text={SETTING} what="the setting, for the next start" />
        </>
      )}
      <Group>
        <Button
          variant="default"
          onClick={() => void run(send)}
          loading={busy}
          disabled={why !== '' || transport === 'none'}
          title={why}
        >
          Send test e-mail
        </Button>
        <Text size="sm" c="dimmed">
          It is sent to your own e-mail address
        </Text>
      </Group>
      {found === null ? null : (
        <Verdict good={found.sent}>
          {found.to === null ? null : (
            <>
              To <Code>{found.to}</Code>:{' '}
            </>
          )}
          {found.message}
        </Verdict>
      )}
      {error === null ? null : <Failure error={error} />}
    </Stack>
  );
}
