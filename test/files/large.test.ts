/**
 * Memory stays flat for any traffic: one large file up and down, many at once. The short profile is for every run;
 * `MILLRACE_LONG=1` uses 1 GiB and 20 times 50 MB on every available store.
 */
import t, { type Test } from 'tap';
import { S3_KINDS, testS3, whyNoS3 } from '../helpers/files/s3.ts';
import { sha256Of, streamDownload, streamUpload } from '../helpers/files/stream-upload.ts';
import { isLong, onlyLong } from '../helpers/long-profile.ts';
import { testMongo } from '../helpers/mongo.ts';
import { type Program, startProgram } from '../helpers/programs/program.ts';

const MIB = 1_048_576;
const LARGE = isLong ? 1_024 * MIB : 128 * MIB;
/** V8 lets up to 64 MB of unreferenced buffers accumulate before it collects them. */
const FLAT = isLong ? 64 * MIB : 96 * MIB;
const MANY = isLong ? 20 : 3;
const EACH = 50_000_000;
const FLAT_MANY = isLong ? 250_000_000 : 100_000_000;

t.setTimeout(isLong ? 1_800_000 : 480_000);
if (process.platform !== 'linux') t.bailout('Memory is read from /proc, which is absent');

t.test('Memory stays flat on GridFS.', async (t) => {
  const { url, database } = await testMongo(t);
  await measure(t, await startProgram(t, { MONGODB_URL: url, MILLRACE_DB: database }));
});

for (const kind of S3_KINDS) {
  const options = isLong ? { skip: whyNoS3(kind) ?? false } : onlyLong;
  // Uploads are streamed to every store by the same code; stores/s3-store.test.ts writes large files in parts.
  t.test(`Memory stays flat on ${kind}.`, options, async (t) => {
    const { url, database } = await testMongo(t);
    const { bucket, endpoint, credentials } = await testS3(t, kind);
    const program = await startProgram(t, {
      MONGODB_URL: url,
      MILLRACE_DB: database,
      MILLRACE_FILE_STORAGE: `s3://${bucket}?endpoint=${endpoint}`,
      AWS_ACCESS_KEY_ID: credentials?.accessKeyId ?? '',
      AWS_SECRET_ACCESS_KEY: credentials?.secretAccessKey ?? '',
    });
    await measure(t, program);
  });
}

async function measure(t: Test, program: Program): Promise<void> {
  const up = async (seed: number, size: number) => {
    const response = await streamUpload(program.url, { seed, size });
    if (response?.status !== 200) throw new Error(`Upload: ${response?.status} ${response?.body}`);
    return JSON.parse(response.body);
  };
  // Warm up, so that compiled code and uncollected buffers at this rate do not count as growth.
  for (let i = 0; i < 3; i++) await streamDownload((await up(i, 32 * MIB)).url);

  const peak = watch(program);
  const started = Date.now();
  const large = await up(11, LARGE);
  const expected = sha256Of(11, LARGE);
  t.match(large, { size: LARGE, sha256: expected }, 'one large file goes up');
  const uploaded = Date.now();
  t.same(await streamDownload(large.url), { size: LARGE, sha256: expected }, 'and comes down, byte for byte');
  const grown = peak.stop();
  t.comment(`up ${uploaded - started} ms with hashing here, down ${Date.now() - uploaded} ms, grew ${mb(grown)}`);
  t.ok(grown < FLAT, `memory grew by ${mb(grown)}`);

  const peakMany = watch(program);
  const many = await Promise.all(Array.from({ length: MANY }, (_, i) => up(20 + i, EACH)));
  const grownMany = peakMany.stop();
  t.ok(grownMany < FLAT_MANY, `${MANY} uploads at once: memory grew by ${mb(grownMany)}`);
  for (const [i, file] of many.entries()) t.equal(file.sha256, sha256Of(20 + i, EACH));
}

/** Measures the memory of the process; `stop` returns the growth from now to its peak, in bytes. */
function watch(program: Program): { stop(): number } {
  const before = program.rss();
  let peak = before;
  const timer = setInterval(() => {
    peak = Math.max(peak, program.rss());
  }, 50);
  return {
    stop: () => {
      clearInterval(timer);
      return Math.max(peak, program.rss()) - before;
    },
  };
}

function mb(bytes: number): string {
  return `${Math.round(bytes / 1e6)} MB`;
}
