/** Hints of the server about the list: a field that no document has, or an index that is missing. */
import { Alert } from '@mantine/core';
import { IconBulb } from '@tabler/icons-react';
import { PageLink } from '../../parts/page-link.tsx';

interface ListHintProps {
  readonly collection: string;
  /** `Millrace-Hint`: a sentence for people. */
  readonly hint: string;
  readonly mayBuild: boolean;
}

export function ListHint({ collection, hint, mayBuild }: ListHintProps) {
  const index = indexIn(hint);
  return (
    <Alert color="gray" py="xs" icon={<IconBulb size={18} />}>
      {hint}{' '}
      {index === null || !mayBuild ? null : (
        <PageLink to="/data/$collection" params={{ collection }} search={{ tab: 'indexes', index }} inherit>
          Create index
        </PageLink>
      )}
    </Alert>
  );
}

/**
 * The fields of the index that a hint names, separated by commas. The wording of hints may change: then there is no
 * link.
 */
function indexIn(hint: string): string | null {
  const [, json] = /an index on (\[.*\]) is missing/.exec(hint) ?? [];
  if (json === undefined) return null;
  const fields: unknown = JSON.parse(json);
  return Array.isArray(fields) ? fields.join(',') : null;
}
