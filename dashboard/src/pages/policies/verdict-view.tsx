/** A verdict of the server: allowed or denied, the policy that decided, and the visible and writable fields. */
import { Alert, Badge, Group, Text } from '@mantine/core';
import { PageLink } from '../../parts/page-link.tsx';
import type { SavedPolicy } from './parts/policies.ts';

/** The response of `/admin/policies/test`. */
export interface Judged {
  readonly decision: 'allow' | 'deny';
  /** Null if none applies, and for administrators. */
  readonly policy: string | null;
  readonly fields: { readonly read: readonly string[]; readonly write: readonly string[] } | null;
  readonly reason?: string;
}

interface VerdictShownProps {
  readonly judged: Judged;
  readonly policies: readonly SavedPolicy[];
  /** Without a document: allowed for some and denied for others. */
  readonly isPartial?: boolean;
}

export function VerdictShown({ judged, policies, isPartial = false }: VerdictShownProps) {
  const { decision, policy, fields, reason } = judged;
  const isAllowed = decision === 'allow';
  const name = policies.find(({ id }) => id === policy)?.name;
  return (
    <Alert
      color={isAllowed ? 'teal' : 'red'}
      title={isPartial ? 'Allowed for some documents' : isAllowed ? 'Allowed' : 'Denied'}
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
      {isPartial ? <Text size="sm">The filters below decide for each document.</Text> : null}
      {fields === null ? null : (
        <>
          <Fields label="Visible fields" rules={fields.read} />
          <Fields label="Writable fields" rules={fields.write} />
        </>
      )}
    </Alert>
  );
}

function Fields({ label, rules }: { readonly label: string; readonly rules: readonly string[] }) {
  if (rules.length === 0) return null;
  return (
    <Group gap={4} mt={6}>
      <Text size="sm">{label}:</Text>
      {rules.map((rule) => (
        <Badge key={rule} variant="default" ff="monospace">
          {rule === '*' ? 'all fields' : rule}
        </Badge>
      ))}
    </Group>
  );
}
