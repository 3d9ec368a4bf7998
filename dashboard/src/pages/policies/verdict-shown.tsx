/** A verdict of the server: allowed or refused, which policy decided, and which members are seen and set. */
import { Alert, Badge, Group, Text } from '@mantine/core';
import { PageLink } from '../../parts/page-link.tsx';
import type { SavedPolicy } from './parts/policies.ts';

/** The answer of `/admin/policies/test`. */
export interface Judged {
  readonly verdict: 'allow' | 'deny';
  /** Null if none applies, and for owners. */
  readonly policy: string | null;
  readonly fields: { readonly read: readonly string[]; readonly write: readonly string[] } | null;
  readonly reason?: string;
}

interface VerdictShownProps {
  readonly judged: Judged;
  readonly policies: readonly SavedPolicy[];
  /** Without a document: some would be allowed and others refused. */
  readonly isPartial?: boolean;
}

export function VerdictShown({ judged, policies, isPartial = false }: VerdictShownProps) {
  const { verdict, policy, fields, reason } = judged;
  const isAllowed = verdict === 'allow';
  const name = policies.find(({ id }) => id === policy)?.name;
  return (
    <Alert
      color={isAllowed ? 'teal' : 'red'}
      title={isPartial ? 'Allowed for some documents' : isAllowed ? 'Allowed' : 'Refused'}
      role="status"
    >
      <Text size="sm">
        {policy === null ? (
          (reason ?? (isAllowed ? 'No policy is needed.' : 'No policy allows it.'))
        ) : (
          <>
            Decided by{' '}
            <PageLink to="/policies" search={{ policy }} size="sm">
              {name ?? policy}
            </PageLink>
            {reason === undefined ? '.' : `. ${reason}.`}
          </>
        )}
      </Text>
      {isPartial ? <Text size="sm">The conditions below decide about each document.</Text> : null}
      {fields === null ? null : (
        <>
          <Members label="Seen" rules={fields.read} />
          <Members label="May be set" rules={fields.write} />
        </>
      )}
    </Alert>
  );
}

function Members({ label, rules }: { readonly label: string; readonly rules: readonly string[] }) {
  if (rules.length === 0) return null;
  return (
    <Group gap={4} mt={6}>
      <Text size="sm">{label}:</Text>
      {rules.map((rule) => (
        <Badge key={rule} variant="default" ff="monospace">
          {rule === '*' ? 'all members' : rule}
        </Badge>
      ))}
    </Group>
  );
}
