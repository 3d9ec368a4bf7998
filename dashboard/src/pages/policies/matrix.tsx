/** The matrix: what each principal may do with each resource. A cell opens with the reason. */
import { Group, Table, Text, UnstyledButton } from '@mantine/core';
import { useResources } from '../../api/known-names.ts';
import { Failure } from '../../parts/failure.tsx';
import { Loading } from '../../parts/page.tsx';
import { DataTable } from '../../parts/tables/data-table.tsx';
import { CellExplained } from './cell-explained.tsx';
import { ChosenPrincipal, useChosenPrincipal } from './chosen-principal.tsx';
import classes from './matrix.module.css';
import type { PolicySet } from './parts/policies.ts';
import type { ChangeSearch, PoliciesSearch } from './parts/route.ts';
import { commonPrincipals } from './principals.ts';
import { actionsOf, type Cell, useVerdicts, type Verdict } from './verdicts.ts';

interface MatrixProps {
  readonly set: PolicySet;
  readonly search: PoliciesSearch;
  readonly change: ChangeSearch;
}

/** More would take too long to request and could not be read. */
const MAX_RESOURCES = 60;
const MAX_PRINCIPALS = 16;
const WORDS: Readonly<Record<Verdict, string>> = {
  allow: 'allowed',
  some: 'allowed for some documents',
  deny: 'denied',
};

export function Matrix({ set, search, change }: MatrixProps) {
  const known = useResources();
  const chosen = useChosenPrincipal(search.as);
  const named = set.policies.flatMap(({ resources }) => resources).filter((name) => !OTHER.includes(name));
  const all = [...new Set([...named, ...known])];
  const resources = all.slice(0, MAX_RESOURCES);
  const common = commonPrincipals(set.policies).slice(0, MAX_PRINCIPALS);
  const principals = chosen.principal === null ? common : [...common, chosen.principal];
  const { data: cells, error } = useVerdicts(set, principals, resources);
  const open = cells?.find(
    ({ principal, action, resource }) =>
      principal.name === search.principal && action === search.action && resource === search.resource,
  );
  return (
    <>
      <ChosenPrincipal chosen={search.as} error={chosen.error} onChange={(as) => change({ as })} />
      <Legend />
      {error === null ? null : <Failure error={error} />}
      {cells === undefined ? (
        error === null && <Loading />
      ) : (
        <div className={classes.matrix}>
          <DataTable label="Permissions" columns={['Resource', ...principals.map(({ title }) => title)]}>
            {resources.map((resource) => (
              <Table.Tr key={resource}>
                <Table.Th scope="row" style={{ overflowWrap: 'anywhere' }}>
                  {resource}
                </Table.Th>
                {principals.map(({ name, title }) => (
                  <Table.Td key={name} data-column={title}>
                    <Group gap={3} wrap="nowrap">
                      {cells
                        .filter((cell) => cell.resource === resource && cell.principal.name === name)
                        .map((cell) => (
                          <CellButton key={cell.action} cell={cell} change={change} />
                        ))}
                    </Group>
                  </Table.Td>
                ))}
              </Table.Tr>
            ))}
          </DataTable>
        </div>
      )}
      {all.length > resources.length ? (
        <Text size="sm" c="dimmed">
          The first {resources.length} of {all.length} resources. The tester covers all of them.
        </Text>
      ) : null}
      {open === undefined ? null : (
        <CellExplained
          key={`${open.principal.name} ${open.action} ${open.resource}`}
          cell={open}
          set={set}
          onClose={() => change(NO_CELL)}
        />
      )}
    </>
  );
}

const NO_CELL = { principal: undefined, action: undefined, resource: undefined };
/** Names in policies that are not listed as resources. */
const OTHER = ['*', '_events', '_admin'];

function CellButton({ cell, change }: { readonly cell: Cell; readonly change: ChangeSearch }) {
  const { principal, action, resource, verdict } = cell;
  return (
    <UnstyledButton
      className={`${classes.cell} ${classes[verdict]} ${action === 'call' ? classes.wide : ''}`}
      aria-label={`${principal.title}, ${action} ${resource}: ${WORDS[verdict]}`}
      title={`${action}: ${WORDS[verdict]}`}
      onClick={() => change({ principal: principal.name, action, resource: resource })}
    >
      {action === 'call' ? 'call' : action[0]?.toUpperCase()}
    </UnstyledButton>
  );
}

function Legend() {
  return (
    <Group gap="md" my="sm">
      {(['allow', 'some', 'deny'] as const).map((verdict) => (
        <Group key={verdict} gap={6} wrap="nowrap">
          <span className={`${classes.cell} ${classes[verdict]}`} aria-hidden="true">
            R
          </span>
          <Text size="sm">{WORDS[verdict]}</Text>
        </Group>
      ))}
      <Text size="sm" c="dimmed">
        {actionsOf('')
          .map((action) => `${action[0]?.toUpperCase()} ${action}`)
          .join(' · ')}
        . Administrators need no policy.
      </Text>
    </Group>
  );
}
