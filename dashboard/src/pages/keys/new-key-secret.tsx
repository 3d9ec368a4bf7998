/** A new API key, shown only once, with a request that uses it. */
import { Alert, Button, Group, Modal, Stack, Text } from '@mantine/core';
import { SERVER } from '../../api/server.ts';
import { Copyable } from '../../parts/copy.tsx';

interface KeyShownProps {
  readonly secret: string;
  /** A resource of the key, for the example. */
  readonly resource: string;
  readonly onClose: () => void;
}

export function KeyShown({ secret, resource, onClose }: KeyShownProps) {
  const path =
    resource === '_files' || resource === '_webhooks' || resource === '_functions'
      ? `/${resource.slice(1)}`
      : `/api/${resource}`;
  return (
    // A click beside the dialog must not lose what cannot be shown again.
    <Modal opened onClose={onClose} title="Key created" size="lg" closeOnClickOutside={false}>
      <Stack>
        <Alert color="yellow" py="xs" title="It is not shown again">
          The server stores only a hash of it. If it is lost, revoke it and create another one.
        </Alert>
        <Copyable text={secret} what="the key" />
        <Text size="sm">
          A program sends it with each request. If the response is 403, no policy allows the request yet: see the page
          Policies.
        </Text>
        <Copyable text={`curl ${SERVER}${path} \\\n  -H 'authorization: Bearer ${secret}'`} what="the command" />
        <Group justify="flex-end">
          <Button onClick={onClose}>I have saved it</Button>
        </Group>
      </Stack>
    </Modal>
  );
}
