/** A new API key, shown this one time, with a request that uses it. */
import { Alert, Button, Group, Modal, Stack, Text } from '@mantine/core';
import { SERVER } from '../../api/server.ts';
import { Copyable } from '../../parts/copy.tsx';

interface KeyShownProps {
  readonly secret: string;
  /** A place that the key may reach, for the example. */
  readonly place: string;
  readonly onClose: () => void;
}

export function KeyShown({ secret, place, onClose }: KeyShownProps) {
  const path = place === 'files' || place === 'webhooks' || place === 'functions' ? `/${place}` : `/api/${place}`;
  return (
    // A click beside the dialog must not lose what cannot be shown again.
    <Modal opened onClose={onClose} title="The key is made" size="lg" closeOnClickOutside={false}>
      <Stack>
        <Alert color="yellow" py="xs" title="It is not shown again">
          The server keeps only a hash of it. If it is lost, revoke it and make another one.
        </Alert>
        <Copyable text={secret} what="the key" />
        <Text size="sm">
          A program sends it with each request. If the answer is 403, no policy allows it yet: see the page Policies.
        </Text>
        <Copyable text={`curl ${SERVER}${path} \\\n  -H 'authorization: Bearer ${secret}'`} what="the command" />
        <Group justify="flex-end">
          <Button onClick={onClose}>I have kept it</Button>
        </Group>
      </Stack>
    </Modal>
  );
}
