/** The status of the server and what needs attention, the newest events, and a first step if there is no data. */
import { Alert, Badge, Card, Group, List, SimpleGrid, Stack, Table, Text, Title } from '@mantine/core';
import { IconAlertTriangle, IconBulb, IconCircleCheck } from '@tabler/icons-react';
import { type ReactNode, useEffect, useState } from 'react';
import { type LoggedEvent, useResource } from '../../api/live.ts';
import { Failure } from '../../parts/failure.tsx';
import { FirstDocument } from '../../parts/first-document.tsx';
import { numberText } from '../../parts/numbers.ts';
import { Loading, Page } from '../../parts/page.tsx';
import { PageLink } from '../../parts/page-link.tsx';
import { Actor, ActorOfEvent } from '../../parts/users/actor.tsx';
import { When } from '../../parts/when.tsx';
import { useTail } from '../events/use-tail.ts';
import { type Advice, adviceFor } from './advice.ts';
import { type Facts, useFacts } from './facts.ts';
import { Tiles } from './tiles.tsx';

interface CountedCollection {
  readonly name: string;
  readonly documents: number;
}

const COUNTED = ['*.created', '*.deleted', '*.dropped', '*.renamed'];
const ALL = { types: ['*'], filter: undefined };
const MAX_SHOWN = 8;

export function OverviewPage() {
  const facts = useFacts();
  const collections = useResource<readonly CountedCollection[]>('/admin/collections', COUNTED);
  const [teaches, setTeaches] = useState(false);
  // It stays after the first document was created, because its event is shown there.
  useEffect(() => {
    if (collections.data?.length === 0) setTeaches(true);
  }, [collections.data]);
  return (
    <Page title="Overview" about="Status of the server, and what needs attention.">
      {facts.stateProblem === null ? null : <Failure error={facts.stateProblem} />}
      {teaches ? (
        <Part title="Create your first document">
          <FirstDocument />
        </Part>
      ) : null}
      <Attention facts={facts} />
      <Part title="Server">
        <Tiles {...facts} />
      </Part>
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="md">
        <Part
          title="Newest events"
          more={
            <PageLink to="/events" size="sm">
              All events
            </PageLink>
          }
        >
          <Newest />
        </Part>
        <Part
          title="Collections"
          more={
            <PageLink to="/data" size="sm">
              All data
            </PageLink>
          }
        >
          {collections.data === undefined ? (
            collections.error === null ? (
              <Loading rows={3} />
            ) : (
              <Failure error={collections.error} />
            )
          ) : (
            <Collections collections={collections.data} />
          )}
        </Part>
      </SimpleGrid>
    </Page>
  );
}

interface PartProps {
  readonly title: string;
  readonly more?: ReactNode;
  readonly children: ReactNode;
}

function Part({ title, more, children }: PartProps) {
  return (
    <Stack gap="xs" component="section" miw={0}>
      <Group justify="space-between">
        <Title order={2} size="h4">
          {title}
        </Title>
        {more}
      </Group>
      {children}
    </Stack>
  );
}

function Attention({ facts }: { readonly facts: Facts }) {
  const advice = adviceFor(facts);
  if (facts.state === undefined && advice.length === 0) return null;
  if (advice.length === 0) {
    return (
      <Alert
        color="teal"
        variant="light"
        icon={<IconCircleCheck size={18} />}
        title="Nothing needs attention"
        py="xs"
      />
    );
  }
  return (
    <>
      <Advised
        title="Needs attention"
        color="red"
        icon={<IconAlertTriangle size={18} />}
        advice={advice.filter(({ urgent }) => urgent)}
      />
      <Advised
        title="Recommendations"
        color="gray"
        icon={<IconBulb size={18} />}
        advice={advice.filter(({ urgent }) => !urgent)}
      />
    </>
  );
}

interface AdvisedProps {
  readonly title: string;
  readonly color: string;
  readonly icon: ReactNode;
  readonly advice: readonly Advice[];
}

function Advised({ title, color, icon, advice }: AdvisedProps) {
  if (advice.length === 0) return null;
  return (
    <Part title={title}>
      <Alert color={color} variant="light" icon={icon}>
        <List size="sm" spacing={4} aria-label={title}>
          {advice.map((one) => (
            <Sentence key={one.text} {...one} />
          ))}
        </List>
      </Alert>
    </Part>
  );
}

function Sentence({ text, to, search = {} }: Advice) {
  return (
    <List.Item>
      {to === null ? (
        text
      ) : (
        <PageLink to={to} search={search} size="sm" c="inherit">
          {text}
        </PageLink>
      )}
    </List.Item>
  );
}

function Newest() {
  const { tail, error, again } = useTail(ALL, undefined);
  if (error !== null) return <Failure error={error} again={again} />;
  if (tail.newest === null) return <Loading rows={3} />;
  if (tail.rows.length === 0) return <Text size="sm">No events yet.</Text>;
  return (
    <Card withBorder padding={0}>
      <Table layout="fixed" aria-label="Newest events">
        <Table.Tbody>
          {tail.rows.slice(0, MAX_SHOWN).map((event) => (
            <Table.Tr key={event.id}>
              <Table.Td>
                <PageLink to="/events" search={{ event: event.id }} size="sm">
                  {event.type}
                </PageLink>
                <Text size="xs" c="dimmed" truncate>
                  <Subject event={event} />
                </Text>
              </Table.Td>
              <Table.Td w={130} ta="right">
                <When at={event.timestamp} />
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Card>
  );
}

/** The subject of an event: a user, a key or an endpoint by name, and anything else by id. */
function Subject({ event }: { readonly event: LoggedEvent }) {
  const { type, documentId, data, before } = event;
  if (documentId === null || type.startsWith('system.session.')) return <ActorOfEvent event={event} plain />;
  if (!type.startsWith('system.')) return <>{documentId}</>;
  if (type.startsWith('system.user.')) return <Actor kind={null} id={documentId} plain />;
  const names = [data, before].flatMap((state) => [state?.['name'], state?.['url']]);
  return <>{names.find((name) => typeof name === 'string') ?? documentId}</>;
}

function Collections({ collections }: { readonly collections: readonly CountedCollection[] }) {
  if (collections.length === 0) return <Text size="sm">No collections yet.</Text>;
  const largest = [...collections].sort((one, other) => other.documents - one.documents).slice(0, MAX_SHOWN);
  return (
    <Card withBorder padding={0}>
      <Table layout="fixed" aria-label="Collections">
        <Table.Tbody>
          {largest.map(({ name, documents }) => (
            <Table.Tr key={name}>
              <Table.Td>
                <PageLink to="/data/$collection" params={{ collection: name }} size="sm">
                  {name}
                </PageLink>
              </Table.Td>
              <Table.Td w={130} ta="right">
                <Badge variant="default">{numberText(documents)}</Badge>
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Card>
  );
}
