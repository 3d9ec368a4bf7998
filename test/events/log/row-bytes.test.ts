/** Entries of the change stream and rows of the log as bytes: what is cut and written by hand equals what the driver makes. */
import { BSON, Timestamp } from 'mongodb';
import t from 'tap';
import { readChangeEntry, toStreamChange } from '../../../src/database/cursors/stream-change.ts';
import { encodeLogRow, LOG_ROW_DEFAULTS, type LogRow, writeLogRows } from '../../../src/events/log/log-row.ts';
import { element, frame, string } from '../../helpers/database/bson-parts.ts';
import { randomBson } from '../../helpers/database/random-bson.ts';
import { Random, runCount, runSeed } from '../../helpers/random.ts';

const TEXTS = ['', 'a', 'ümläut', '漢字 and 🙂', 'x'.repeat(300), 'half \ud800 a pair'];
const OPERATIONS = ['insert', 'update', 'replace', 'delete', 'create', 'drop', 'rename', 'meta'] as const;
const embedded = (name: string, document: Buffer) => element(0x03, name, document);

t.test('rows are written as the bytes that the driver makes of them', async (t) => {
  const random = new Random(runSeed());
  t.comment(`MILLRACE_SEED=${random.seed}`);
  const rows = Array.from({ length: runCount(300, 10_000) }, (_, index) => randomRow(random, index + 1));
  for (const row of rows) t.same(writeLogRows([row]), Buffer.from(BSON.serialize(encodeLogRow(row))));
  const whole = Buffer.concat(rows.map((row) => BSON.serialize(encodeLogRow(row))));
  t.ok(writeLogRows(rows).equals(whole), 'and several follow each other');
});

t.test('entries are cut as the driver reads them, whole and in fragments', async (t) => {
  const random = new Random(runSeed());
  t.comment(`MILLRACE_SEED=${random.seed}`);
  for (let run = 0; run < runCount(300, 10_000); run += 1) {
    const fields = randomEntry(random);
    const expected = readByDriver(frame(fields));
    t.match(toStreamChange([readChangeEntry(frame(fields))]), expected);
    const [head = Buffer.of(), ...rest] = fields;
    const at = random.below(rest.length + 1);
    const parts = [rest.slice(0, at), rest.slice(at)].map((part, index) =>
      readChangeEntry(frame([head, splitEvent(index + 1), ...part])),
    );
    t.same(parts[1]?.split, { fragment: 2, of: 2 });
    t.match(toStreamChange(parts), expected, 'in fragments');
  }
});

function randomRow(random: Random, number: number): LogRow {
  const text = () => random.pick([null, ...TEXTS]);
  const body = () => (random.once(2) ? null : randomBson(random, { odd: true }));
  const key = random.pick([1, 'a', 2.5, new BSON.ObjectId(), { a: 'ü', b: [1, null] }]);
  return {
    ...LOG_ROW_DEFAULTS,
    number,
    epoch: random.pick([1, 2 ** 31 - 1, 2 ** 31, 28_512_345_678]),
    token: '82'.padEnd(2 * (1 + random.below(80)), '4F'),
    time: new Timestamp({ t: random.pick([1, 0x7fffffff, 0xffffffff]), i: random.pick([0, 1, 0xfffffffe]) }),
    wall: new Date(random.pick([0, 1_767_000_000_123, -1])),
    operation: random.pick(OPERATIONS),
    collection: text(),
    key: random.once(4) ? null : Buffer.from(BSON.serialize({ _id: key })),
    after: body(),
    before: body(),
    update: body(),
    transaction: random.once(2)
      ? null
      : { id: random.pick(TEXTS), index: random.pick([0, 7, 2 ** 31]), last: random.once(2) },
    by: text(),
    request: text(),
    big: random.once(4),
    to: text(),
    from: text(),
  };
}

function randomEntry(random: Random): Buffer[] {
  const rest: Record<string, unknown> = {
    operationType: random.pick(OPERATIONS),
    clusterTime: new Timestamp({ t: random.pick([1, 0xffffffff]), i: random.below(5) }),
    ns: random.pick([{ db: 'd' }, { db: 'd', coll: random.pick(TEXTS.slice(1, 5)) }]),
  };
  if (!random.once(4)) rest['wallTime'] = new Date(random.pick([0, 1_767_000_000_123, -5]));
  if (random.once(4)) rest['to'] = { db: 'd', coll: 'other' };
  if (random.once(2)) rest['lsid'] = { id: new BSON.UUID(), uid: new BSON.Binary(Buffer.alloc(32)) };
  if (random.once(2)) rest['txnNumber'] = random.pick([BSON.Long.fromNumber(7), BSON.Long.MAX_VALUE, 3]);
  if (random.once(4)) rest['collectionUUID'] = new BSON.UUID();
  const fields = Object.entries(rest).map(([name, value]) => BSON.serialize({ [name]: value }).subarray(4, -1));
  const bodies = [
    'documentKey',
    'fullDocument',
    'fullDocumentBeforeChange',
    'updateDescription',
    'operationDescription',
  ]
    .filter(() => !random.once(4))
    .map((name) => embedded(name, randomBson(random, { odd: true })));
  const token = frame([element(0x02, '_data', string(Buffer.from('8265F0ABCDEF')))]);
  return [
    embedded('_id', token),
    ...[...fields.map((one) => Buffer.from(one)), ...bodies].sort(() => random.below(3) - 1),
  ];
}

function splitEvent(fragment: number): Buffer {
  return embedded('splitEvent', Buffer.from(BSON.serialize({ fragment, of: 2 })));
}

/** The same entry, by the driver's deserializer. */
function readByDriver(bytes: Buffer): object {
  const entry = BSON.deserialize(bytes, { raw: true, validation: { utf8: false } });
  const inner = (name: string) => (entry[name] === undefined ? null : BSON.deserialize(entry[name]));
  const body = (name: string) => (entry[name] === undefined ? null : Buffer.from(entry[name]));
  const session = inner('lsid');
  return {
    token: inner('_id')?.['_data'],
    operation: entry['operationType'],
    time: entry['clusterTime'],
    wall: entry['wallTime'] ?? new Date(0),
    collection: inner('ns')?.['coll'] ?? null,
    to: inner('to')?.['coll'] ?? null,
    key: body('documentKey'),
    after: body('fullDocument'),
    before: body('fullDocumentBeforeChange'),
    update: body('updateDescription'),
    transaction: session === null ? null : `${String(session['id'])}:${String(entry['txnNumber'] ?? null)}`,
  };
}
