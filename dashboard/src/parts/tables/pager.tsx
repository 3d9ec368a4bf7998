/** Navigation through a long list: back to its start, and on to the next page. */
import { Button, Group } from '@mantine/core';

interface PagerProps {
  /** Cursor of the page; undefined at the start of the list. */
  readonly cursor: string | undefined;
  /** Cursor of the next page; null at the end. */
  readonly next: string | null;
  /** The labels for the start and for the next page. */
  readonly words?: readonly [beginning: string, further: string];
  readonly onCursor: (cursor: string | undefined) => void;
}

/** Nothing while the list fits on one page. */
export function Pager({ cursor, next, words: [beginning, further] = ['Newest', 'Older'], onCursor }: PagerProps) {
  if (next === null && cursor === undefined) return null;
  return (
    <Group gap="xs" justify="flex-end">
      <Button size="xs" variant="default" disabled={cursor === undefined} onClick={() => onCursor(undefined)}>
        {beginning}
      </Button>
      <Button size="xs" variant="default" disabled={next === null} onClick={() => onCursor(next ?? undefined)}>
        {further}
      </Button>
    </Group>
  );
}
