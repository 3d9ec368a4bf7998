/** Compares the URL in the browser with the one of the server, and says what to set. */
import { Code, Stack } from '@mantine/core';
import { SERVER } from '../../api/server.ts';
import { Copyable } from '../copy.tsx';
import { Verdict } from './check-result.tsx';
import type { EffectiveSettings } from './effective-settings.ts';

const LOOPBACK = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

export function AddressCheck({ settings }: { readonly settings: EffectiveSettings }) {
  const { publicUrl, request } = settings;
  const { protocol, hostname } = location;
  const isLocal = LOOPBACK.test(hostname);
  const isEncrypted = protocol === 'https:';
  return (
    <Stack gap="sm">
      <Verdict good>
        Your browser uses <Code>{SERVER}</Code>
      </Verdict>
      <Verdict good={publicUrl === SERVER}>
        {publicUrl === null ? (
          <>
            <Code>MILLRACE_PUBLIC_URL</Code> is not set. Links in e-mails and URLs of files need it, and with it the
            server rejects requests for any other host.
          </>
        ) : publicUrl === SERVER ? (
          <>
            <Code>MILLRACE_PUBLIC_URL</Code> is the same
          </>
        ) : (
          <>
            <Code>MILLRACE_PUBLIC_URL</Code> is <Code>{publicUrl}</Code>. Links in e-mails point there.
          </>
        )}
      </Verdict>
      <Verdict good={isEncrypted}>
        {isEncrypted
          ? 'The connection is encrypted (https)'
          : isLocal
            ? 'The connection is not encrypted. That is fine on this machine; for others, put a proxy with https in front of Millrace.'
            : 'The connection is not encrypted: anyone on the network path can read your password. Put a proxy with https in front of Millrace.'}
      </Verdict>
      {request.baseUrl === SERVER ? null : (
        <Verdict good={false}>
          The server received the request as <Code>{request.baseUrl}</Code>: let the proxy forward <Code>Host</Code> and{' '}
          <Code>X-Forwarded-Proto</Code>, and list it in <Code>MILLRACE_TRUST_PROXY</Code>.
        </Verdict>
      )}
      <Verdict good>
        The server sees your IP address as <Code>{request.ip}</Code>
        {isLocal ? '' : '. If that is the IP address of a proxy, list it in MILLRACE_TRUST_PROXY.'}
      </Verdict>
      {publicUrl === null ? (
        <Copyable
          text={`MILLRACE_PUBLIC_URL=${isLocal ? 'https://api.example.org' : SERVER}`}
          what="the setting, for the next start"
        />
      ) : null}
    </Stack>
  );
}
