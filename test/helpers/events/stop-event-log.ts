import type { Services } from '../../../src/services.ts';

/** As if nothing recorded and followed events: the process learns of no change through them. */
export async function stopEventLog({ events: { retention, recorder, tail } }: Services): Promise<void> {
  await retention.stop();
  await recorder.stop();
  await tail.stop();
}
