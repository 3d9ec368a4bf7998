/** The test suite of every sender, through the interface only. */
import { type OpenFixture, OWN_TRAITS } from '../../helpers/webhooks/sender-fixture.ts';
import { delivering } from './suite/delivering.ts';
import { failing } from './suite/failing.ts';
import { breaking, pausing, unbroken } from './suite/pausing.ts';
import { scenes } from './suite/scene.ts';
import { showing } from './suite/showing.ts';

/** Runs the suite on one sender. */
export function senderSuite(open: OpenFixture, traits = OWN_TRAITS): void {
  const scene = scenes(open, traits);
  delivering(scene, traits);
  failing(scene, traits);
  if (traits.hasBreaker) breaking(scene);
  else unbroken(scene);
  pausing(scene, traits);
  showing(scene, traits);
}
