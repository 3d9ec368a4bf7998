/** The sandbox suite on isolates in a runner. */
import t from 'tap';
import { IsolateSandbox } from '../../../src/functions/sandbox/host/isolate-sandbox.ts';
import { ISOLATIONS } from './calls.ts';
import { sandboxSuite } from './sandbox-suite.ts';

for (const isolation of ISOLATIONS) {
  t.test(`The sandbox of isolates passes the suite, with contexts by ${isolation}.`, (t) =>
    sandboxSuite(t, isolation, (events) => new IsolateSandbox(events)),
  );
}
