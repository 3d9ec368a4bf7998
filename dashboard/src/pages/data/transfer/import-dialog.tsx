/** Import of a file: its content, the fields of its columns, and the progress. */
import { Button, FileInput, Group, Modal, NativeSelect, Progress, Stack, Table, Text, TextInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useRef, useState } from 'react';
import { Failure } from '../../../parts/failure.tsx';
import { numberText } from '../../../parts/numbers.ts';
import { DataTable } from '../../../parts/tables/data-table.tsx';
import { type DecodedText, decodeText } from './decode-text.ts';
import {
  COLUMN_TYPES,
  type ColumnPlan,
  type FileContent,
  FORMATS,
  firstPlan,
  formatOf,
  readContent,
  toDocument,
} from './read-file.ts';
import { sendDocuments } from './send-documents.ts';

/** Documents of the preview. */
const SHOWN = 5;

export function ImportDialog({ collection, onClose }: { readonly collection: string; readonly onClose: () => void }) {
  const [file, setFile] = useState<(DecodedText & { readonly name: string }) | null>(null);
  const [content, setContent] = useState<FileContent | null>(null);
  const [plan, setPlan] = useState<readonly ColumnPlan[]>([]);
  const [sent, setSent] = useState<number | null>(null);
  const [error, setError] = useState<unknown>(null);
  const stop = useRef(new AbortController());

  const read = (text: string, format: FileContent['format']) => {
    setError(null);
    setContent(null);
    try {
      const next = readContent(text, format);
      setContent(next);
      setPlan(firstPlan(next.columns));
    } catch (problem) {
      setError(problem instanceof Error ? problem.message : problem);
    }
  };
  const choose = async (chosen: File | null) => {
    if (chosen === null) return;
    setFile(null);
    setContent(null);
    try {
      const { text, encoding } = decodeText(new Uint8Array(await chosen.arrayBuffer()));
      setFile({ name: chosen.name, text, encoding });
      read(text, formatOf(chosen.name, text));
    } catch (problem) {
      setError(problem instanceof Error ? problem.message : problem);
    }
  };
  const documentsOf = ({ format, rows }: FileContent, count = rows.length): readonly object[] =>
    rows.slice(0, count).map((row, at) => {
      try {
        return format === 'csv' ? toDocument(row, plan) : row;
      } catch (problem) {
        throw new Error(`Row ${at + 1}: ${problem instanceof Error ? problem.message : String(problem)}`);
      }
    });
  const send = async (from: FileContent) => {
    setError(null);
    stop.current = new AbortController();
    try {
      const documents = documentsOf(from);
      setSent(0);
      await sendDocuments(collection, documents, stop.current.signal, setSent);
      if (stop.current.signal.aborted) return;
      notifications.show({ message: `${numberText(documents.length)} documents imported` });
      onClose();
    } catch (problem) {
      setError(problem);
    }
  };
  const close = () => {
    stop.current.abort();
    onClose();
  };
  const total = content?.rows.length ?? 0;
  const isSending = sent !== null && error === null && !stop.current.signal.aborted;
  return (
    <Modal opened onClose={close} title={`Import into ${collection}`} size="xl">
      <Stack>
        <FileInput
          label="File"
          description="A JSON array, NDJSON (one document per line), or CSV with a header row"
          placeholder="Choose a file"
          accept=".json,.ndjson,.jsonl,.csv,.tsv,.txt"
          disabled={isSending}
          onChange={(chosen) => void choose(chosen)}
        />
        {file === null || file.encoding === 'UTF-8' ? null : (
          <Text size="sm" role="note">
            The file was read as {file.encoding}. If characters look wrong below, save it as UTF-8 and choose it again.
          </Text>
        )}
        {file === null || sent !== null ? null : (
          <NativeSelect
            label="Format"
            data={[...FORMATS]}
            value={content?.format ?? formatOf(file.name, file.text)}
            onChange={({ currentTarget }) =>
              read(file.text, FORMATS.find((format) => format === currentTarget.value) ?? 'json')
            }
          />
        )}
        {content?.format === 'csv' && sent === null ? <Mapping plan={plan} onChange={setPlan} /> : null}
        {content === null || sent !== null ? null : <Preview documents={() => documentsOf(content, SHOWN)} />}
        {sent === null ? null : (
          <Stack gap={4}>
            <Progress value={(100 * sent) / Math.max(total, 1)} aria-label="Documents sent" />
            <Text size="sm" role="status">
              {numberText(sent)} of {numberText(total)} documents saved.
              {isSending ? '' : ' The others are not.'}
            </Text>
          </Stack>
        )}
        {error === null ? null : <Failure error={error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={close}>
            {isSending ? 'Stop' : 'Cancel'}
          </Button>
          <Button
            loading={isSending}
            disabled={content === null || total === 0 || sent !== null}
            onClick={() => content !== null && void send(content)}
          >
            {content === null ? 'Import' : `Import ${numberText(total)} ${total === 1 ? 'document' : 'documents'}`}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}

interface MappingProps {
  readonly plan: readonly ColumnPlan[];
  readonly onChange: (plan: readonly ColumnPlan[]) => void;
}

function Mapping({ plan, onChange }: MappingProps) {
  const put = (at: number, part: Partial<ColumnPlan>) =>
    onChange(plan.map((column, index) => (index === at ? { ...column, ...part } : column)));
  return (
    <DataTable label="Columns of the file" columns={['Column', 'Field', 'Type']} few>
      {plan.map(({ column, field, type }, at) => (
        <Table.Tr key={column}>
          <Table.Td>{column}</Table.Td>
          <Table.Td>
            <TextInput
              size="xs"
              aria-label={`Field for ${column}`}
              value={field}
              onChange={({ currentTarget }) => put(at, { field: currentTarget.value })}
            />
          </Table.Td>
          <Table.Td>
            <NativeSelect
              size="xs"
              aria-label={`Type of ${column}`}
              data={[...COLUMN_TYPES]}
              value={type}
              onChange={({ currentTarget }) =>
                put(at, { type: COLUMN_TYPES.find((one) => one === currentTarget.value) ?? 'text' })
              }
            />
          </Table.Td>
        </Table.Tr>
      ))}
    </DataTable>
  );
}

/** Preview as they will be stored, or what is wrong with them. */
function Preview({ documents }: { readonly documents: () => readonly object[] }) {
  try {
    const text = documents().map((document) => JSON.stringify(document));
    return (
      <div>
        <Text size="sm" fw={500}>
          Preview
        </Text>
        {text.map((line, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: documents are identified by their index
          <Text key={at} size="xs" ff="monospace" truncate>
            {line}
          </Text>
        ))}
      </div>
    );
  } catch (error) {
    return <Failure error={error instanceof Error ? error.message : error} />;
  }
}
