/** Functions inside an open transaction: what they see of it, and what ends it whatever their code catches. */
import t from 'tap';
import { requestOfRun } from '../../../src/functions/runs/run.ts';
import { callsWorld, RUN, refusal, returned } from '../../helpers/functions/calls.ts';

t.test('inside a transaction', async (t) => {
  const { parts, call, errors, jobs } = await callsWorld(t, {});
  const { atomic, mongo } = parts;
  const counters = mongo.data.collection<{ _id: string; n: number }>('counters');
  const at = { collection: 'counters', id: 'c' };
  const STOP = new Error('rolled back');
  await call(
    async ({ ask }) => void (await ask('documents.create', { collection: 'counters', document: { id: 'c', n: 0 } })),
  );

  await t.test(
    'a run sees its own writes, also those it did not wait for, and nobody else does before the end',
    async (t) => {
      await atomic.run(async (within) => {
        const report = await call(
          async ({ ask }) => {
            await Promise.all([1, 2, 3].map(() => ask('documents.update', { ...at, operators: { $inc: { n: 1 } } })));
            t.match(await ask('documents.get', at), { n: 3 });
            t.match(await ask('documents.list', { collection: 'counters', filter: { n: 3 } }), {
              items: [{ id: 'c' }],
            });
            t.equal(await ask('documents.count', { collection: 'counters', filter: { n: 3 } }), 1);
            t.match(await counters.findOne({ _id: 'c' }), { n: 0 });
          },
          { within },
        );
        t.equal(returned(report), null);
      });
      t.match(await counters.findOne({ _id: 'c' }), { n: 3 });
    },
  );

  await t.test('and nothing stays when it is rolled back', async (t) => {
    await t.rejects(
      atomic.run(async (within) => {
        await call(async ({ ask }) => void (await ask('documents.update', { ...at, operators: { $inc: { n: 1 } } })), {
          within,
        });
        throw STOP;
      }),
      STOP,
    );
    t.match(await counters.findOne({ _id: 'c' }), { n: 3 });
  });

  await t.test('a conflict runs all of it again, though the code catches it', async (t) => {
    let times = 0;
    const outcome = await atomic.run(async (within) => {
      times += 1;
      const first = times === 1;
      const report = await call(
        async ({ ask }) => {
          await ask('documents.get', at);
          if (first) await counters.updateOne({ _id: 'c' }, { $set: { n: 10 } });
          await ask('documents.update', { ...at, operators: { $inc: { n: 1 } } }).catch(() => undefined);
          await ask('documents.create', { collection: 'logs', document: { first } }).catch(() => undefined);
          return 'caught';
        },
        { within },
      );
      return returned(report);
    });
    t.strictSame([outcome, times], ['caught', 2]);
    t.match(await counters.findOne({ _id: 'c' }), { n: 11 });
    t.strictSame(
      (await mongo.data.collection('logs').find().toArray()).map(({ first }) => first),
      [false],
    );
  });

  await t.test('what the database refuses ends it, though the code catches it', async (t) => {
    await counters.createIndex({ key: 1 }, { unique: true, sparse: true });
    await call(
      async ({ ask }) => void (await ask('documents.create', { collection: 'counters', document: { key: 1 } })),
    );
    for (const document of [{ id: 'c' }, { key: 1 }]) {
      const expected = 'id' in document ? 'id-exists' : 'unique-violation';
      await t.rejects(
        atomic.run(async (within) => {
          const report = await call(
            async ({ ask }) => {
              await ask('documents.update', { ...at, operators: { $set: { n: 99 } } });
              t.equal(await refusal(ask('documents.create', { collection: 'counters', document })), expected);
              t.equal(await refusal(ask('documents.get', at)), expected, 'nothing more is done in it');
              t.equal(await refusal(ask('documents.create', { collection: 'logs', document: {} })), expected);
              return 'caught';
            },
            { within },
          );
          t.match(report.outcome, { kind: 'fault', code: 'function-failed', message: new RegExp(`^${expected}: `) });
          throw STOP;
        }),
        STOP,
      );
    }
    t.match(await counters.findOne({ _id: 'c' }), { n: 11 });
  });

  await t.test('what is refused before the database is asked may be caught', async (t) => {
    await atomic.run(async (within) => {
      const report = await call(
        async ({ ask }) => {
          t.equal(await refusal(ask('documents.remove', { ...at, id: 'nobody' })), 'document-not-found');
          t.equal(
            await refusal(ask('documents.replace', { ...at, document: {}, ifMatch: '"x"' })),
            'precondition-failed',
          );
          t.equal(await refusal(ask('documents.create', { collection: '_x', document: {} })), 'invalid-name');
          await ask('documents.update', { ...at, operators: { $set: { n: 12 } } });
        },
        { within },
      );
      t.equal(report.outcome.kind, 'value');
    });
    t.match(await counters.findOne({ _id: 'c' }), { n: 12 });
  });

  await t.test('a batch that failed after its first writes ends it', async (t) => {
    await t.rejects(
      atomic.run(async (within) => {
        const report = await call(
          async ({ ask }) => {
            const operations = [
              { method: 'POST', path: '/api/logs', body: { half: true } },
              { method: 'DELETE', path: '/api/logs/nobody' },
            ];
            t.equal(await refusal(ask('batch', { operations })), 'document-not-found');
            return 'caught';
          },
          { within },
        );
        t.match(report.outcome, { kind: 'fault', message: /^document-not-found: / });
        throw STOP;
      }),
      STOP,
    );
    t.equal(await mongo.data.collection('logs').countDocuments({ half: true }), 0);
  });

  await t.test('a job is scheduled with it', async (t) => {
    await atomic.run(async (within) => {
      const more = { later: { use: { kind: 'job' } as const, as: 'function' as const } };
      const begun = Date.now();
      const report = await call(
        async ({ ask }) => {
          t.equal(await refusal(ask('schedule', { name: 'run', input: 1 })), 'function-not-found', 'no job');
          t.equal(await refusal(ask('schedule', { name: 'later', input: 1, at: 'soon' })), 'invalid-parameter');
          t.equal(await refusal(ask('schedule', { name: 'later', input: 1, after: -1 })), 'invalid-parameter');
          t.equal(await refusal(ask('schedule', { name: 'later', input: 1, after: 1e12 })), 'invalid-parameter');
          t.equal(
            await refusal(ask('schedule', { name: 'later', input: 1, after: 1, at: '2026-01-01' })),
            'invalid-parameter',
          );
          return ask('schedule', { name: 'later', input: { n: [1] }, after: 60_000 });
        },
        { within, more, restricted: true },
      );
      t.match(returned(report), { id: 'job_1', at: String });
      t.match(jobs, [{ fn: { id: 'shop/later' }, input: '{"n":[1]}', depth: 1, request: requestOfRun(RUN.id, 1) }]);
      t.equal(jobs[0]?.restricted, true, 'what it was given of accounts may be in the input of the job');
      const [{ at = new Date(0) } = {}] = jobs;
      t.ok(at.getTime() >= begun + 60_000 && at.getTime() <= Date.now() + 60_000);
    });
  });
  t.strictSame(errors, []);
});
