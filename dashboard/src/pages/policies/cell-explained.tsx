/** Why a cell of the matrix says what it says: the verdict, the policy that decides, and all that apply. */
import { Card, Code, Drawer, Group, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { request } from '../../api/client.ts';
import { PageLink } from '../../parts/page-link.tsx';
import { filterInWords, type PolicySet, type SavedPolicy } from './parts/policies.ts';
import { Effect } from './policy-list.tsx';
import { type Judged, VerdictShown } from './verdict-view.tsx';
import { applyingTo, type Cell } from './verdicts.ts';

interface CellExplainedProps {
  readonly cell: Cell;
  readonly set: PolicySet;
  readonly onClose: () => void;
}

export function CellExplained({ cell: { principal, action, resource, verdict }, set, onClose }: CellExplainedProps) {
  const body = { principal: principal.simulation, action, resource: resource };
  const { data } = useQuery({
    queryKey: ['verdict', set.version, body],
    queryFn: async () => (await request<Judged>('POST', '/admin/policies/test', { body })).body,
  });
  const applying = applyingTo(set.policies, principal.simulation, action, resource);
  return (
    <Drawer opened onClose={onClose} position="right" title={`${principal.title}: ${action} ${resource}`}>
      <Stack>
        {data === undefined ? null : (
          <VerdictShown judged={data} policies={set.policies} isPartial={verdict === 'some'} />
        )}
        <Title order={3} size="h5">
          Policies that apply
        </Title>
        {applying.length === 0 ? (
          <Text size="sm">None. Without a policy that allows it, access is denied.</Text>
        ) : (
          applying.map((policy) => <Applying key={policy.id} policy={policy} />)
        )}
        <PageLink
          to="/policies"
          search={{ view: 'tester', principal: principal.name, action, resource: resource }}
          size="sm"
        >
          Test it with a document
        </PageLink>
      </Stack>
    </Drawer>
  );
}

function Applying({ policy }: { readonly policy: SavedPolicy }) {
  const { id, name, effect, fields } = policy;
  return (
    <Card withBorder padding="sm">
      <Group gap="xs" mb={4}>
        <Effect effect={effect} />
        <PageLink to="/policies" search={{ policy: id }} size="sm">
          {name}
        </PageLink>
      </Group>
      <Code block>{filterInWords(policy)}</Code>
      {fields === undefined ? null : (
        <Text size="xs" mt={4}>
          Fields: {JSON.stringify(fields)}
        </Text>
      )}
    </Card>
  );
}
