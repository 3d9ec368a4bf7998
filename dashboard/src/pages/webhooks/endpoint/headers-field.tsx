/** Custom header fields of an endpoint. Stored values are shown as dots, and stay unless changed. */
import { ActionIcon, Button, Group, Stack, Text, TextInput } from '@mantine/core';
import { IconPlus, IconX } from '@tabler/icons-react';
import type { OwnHeader } from './endpoint-values.ts';

interface HeadersFieldProps {
  readonly headers: readonly OwnHeader[];
  readonly onHeaders: (headers: readonly OwnHeader[]) => void;
}

export function HeadersField({ headers, onHeaders }: HeadersFieldProps) {
  const change = (key: number, changes: Partial<OwnHeader>) =>
    onHeaders(headers.map((header) => (header.key === key ? { ...header, ...changes } : header)));
  const next = Math.max(-1, ...headers.map(({ key }) => key)) + 1;
  return (
    <Stack gap={4} role="group" aria-label="Custom headers">
      <Text size="sm" fw={600}>
        Custom headers
      </Text>
      <Text size="xs" c="dimmed">
        Sent with each request, such as authorization. Their values are encrypted and not shown again.
      </Text>
      {headers.map(({ key, name, value }) => (
        <Group key={key} gap="xs">
          <TextInput
            aria-label="Header name"
            placeholder="authorization"
            flex="1 1 140px"
            value={name}
            onChange={({ currentTarget }) => change(key, { name: currentTarget.value })}
          />
          <TextInput
            aria-label="Header value"
            placeholder="Bearer …"
            flex="2 1 180px"
            value={value}
            autoComplete="off"
            onChange={({ currentTarget }) => change(key, { value: currentTarget.value })}
          />
          <ActionIcon
            variant="default"
            aria-label={`Remove the header ${name}`}
            onClick={() => onHeaders(headers.filter((header) => header.key !== key))}
          >
            <IconX size={16} />
          </ActionIcon>
        </Group>
      ))}
      <Group>
        <Button
          size="xs"
          variant="default"
          leftSection={<IconPlus size={14} />}
          onClick={() => onHeaders([...headers, { key: next, name: '', value: '' }])}
        >
          Add header
        </Button>
      </Group>
    </Stack>
  );
}
