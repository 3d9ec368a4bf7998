/** The way through a long list: back to its beginning, and on to what comes after the page. */
import { Button, Group } from '@mantine/core';

interface PagerProps {
  /** Where the page begins; undefined at the beginning of the list. */
  readonly cursor: string | undefined;
  /** Where the next page begins; null at the end. */
  readonly next: string | null;
  /** The words for the beginning and for the next page. */
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
