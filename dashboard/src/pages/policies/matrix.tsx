/** The matrix: for each place, what each principal may do. A cell opens with the reason. */
import { Group, Table, Text, UnstyledButton } from '@mantine/core';
import { usePlaces } from '../../api/known-names.ts';
import { Failure } from '../../parts/failure.tsx';
import { Loading } from '../../parts/page.tsx';
import { DataTable } from '../../parts/tables/data-table.tsx';
import { CellExplained } from './cell-explained.tsx';
import { ChosenPrincipal, useChosenPrincipal } from './chosen-principal.tsx';
import classes from './matrix.module.css';
import type { PolicySet } from './parts/policies.ts';
import type { ChangePlace, PoliciesSearch } from './parts/route.ts';
import { commonPrincipals } from './principals.ts';
import { actionsOf, type Cell, useVerdicts, type Verdict } from './verdicts.ts';

interface MatrixProps {
  readonly set: PolicySet;
  readonly search: PoliciesSearch;
  readonly change: ChangePlace;
}

/** More would take too long to ask about and could not be read. */
const MAX_PLACES = 60;
const MAX_PRINCIPALS = 16;
const WORDS: Readonly<Record<Verdict, string>> = {
  allow: 'allowed',
  some: 'allowed for some documents',
  deny: 'refused',
};

export function Matrix({ set, search, change }: MatrixProps) {
  const known = usePlaces();
  const chosen = useChosenPrincipal(search.as);
  const named = set.policies.flatMap(({ collections }) => collections).filter((name) => !OTHER.includes(name));
  const all = [...new Set([...named, ...known])];
  const places = all.slice(0, MAX_PLACES);
  const common = commonPrincipals(set.policies).slice(0, MAX_PRINCIPALS);
  const principals = chosen.principal === null ? common : [...common, chosen.principal];
  const { data: cells, error } = useVerdicts(set, principals, places);
  const open = cells?.find(
    ({ principal, action, place }) =>
      principal.name === search.principal && action === search.action && place === search.place,
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
          <DataTable label="Who may do what" columns={['Place', ...principals.map(({ title }) => title)]}>
            {places.map((place) => (
              <Table.Tr key={place}>
                <Table.Th scope="row" style={{ overflowWrap: 'anywhere' }}>
                  {place}
                </Table.Th>
                {principals.map(({ name, title }) => (
                  <Table.Td key={name} data-column={title}>
                    <Group gap={3} wrap="nowrap">
                      {cells
                        .filter((cell) => cell.place === place && cell.principal.name === name)
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
      {all.length > places.length ? (
        <Text size="sm" c="dimmed">
          The first {places.length} of {all.length} places. The tester answers about each of them.
        </Text>
      ) : null}
      {open === undefined ? null : (
        <CellExplained
          key={`${open.principal.name} ${open.action} ${open.place}`}
          cell={open}
          set={set}
          onClose={() => change(NO_CELL)}
        />
      )}
    </>
  );
}

const NO_CELL = { principal: undefined, action: undefined, place: undefined };
/** Names in policies that are no place to ask about. */
const OTHER = ['*', 'events', 'admin'];

function CellButton({ cell, change }: { readonly cell: Cell; readonly change: ChangePlace }) {
  const { principal, action, place, verdict } = cell;
  return (
    <UnstyledButton
      className={`${classes.cell} ${classes[verdict]} ${action === 'call' ? classes.wide : ''}`}
      aria-label={`${principal.title}, ${action} ${place}: ${WORDS[verdict]}`}
      title={`${action}: ${WORDS[verdict]}`}
      onClick={() => change({ principal: principal.name, action, place })}
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
        . Owners need no policy.
      </Text>
    </Group>
  );
}
