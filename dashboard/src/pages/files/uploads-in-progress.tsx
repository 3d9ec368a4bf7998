/** Running and failed uploads. */
import { Button, Card, CloseButton, Group, Progress, Stack, Text } from '@mantine/core';
import { Failure } from '../../parts/failure.tsx';
import { sizeText } from './file-list.ts';
import { isOver, type Upload } from './uploads.ts';

interface UploadListProps {
  readonly uploads: readonly Upload[];
  readonly onRemove: (key: number) => void;
  readonly onClear: () => void;
}

export function UploadList({ uploads, onRemove, onClear }: UploadListProps) {
  if (uploads.length === 0) return null;
  const done = uploads.filter(({ state }) => state === 'done').length;
  return (
    <Card withBorder padding="sm" role="region" aria-label="Uploads">
      <Stack gap="xs">
        <Group justify="space-between">
          <Text size="sm" fw={600} role="status">
            {done} of {uploads.length} uploaded
          </Text>
          <Button
            size="compact-xs"
            variant="default"
            onClick={onClear}
            disabled={!uploads.some((one) => isOver(one.state))}
          >
            Clear
          </Button>
        </Group>
        {uploads.map((upload) => (
          <One key={upload.key} upload={upload} onRemove={() => onRemove(upload.key)} />
        ))}
      </Stack>
    </Card>
  );
}

function One({ upload, onRemove }: { readonly upload: Upload; readonly onRemove: () => void }) {
  const { name, size, share, state, error } = upload;
  const percent = Math.round(share * 100);
  const words = { waiting: 'waits', sending: `${percent} %`, done: 'done', failed: 'failed' }[state];
  return (
    <Stack gap={4}>
      <Group justify="space-between" wrap="nowrap" gap="xs">
        <Text size="sm" truncate>
          {name}
        </Text>
        <Group gap="xs" wrap="nowrap">
          <Text size="xs" c="dimmed" style={{ whiteSpace: 'nowrap' }}>
            {sizeText(size)}, {words}
          </Text>
          <CloseButton
            size="sm"
            onClick={onRemove}
            aria-label={isOver(state) ? `Remove ${name} from the list` : `Cancel the upload of ${name}`}
          />
        </Group>
      </Group>
      {state === 'failed' ? (
        <Failure error={error} />
      ) : (
        <Progress value={percent} aria-label={`Upload of ${name}`} {...(state === 'done' ? { color: 'teal' } : {})} />
      )}
    </Stack>
  );
}
