/** What every sender must do, told by the door alone. Not here: what only the direct sender has (direct/). */
import type { OpenWorld } from '../../helpers/webhooks/sender-world.ts';
import { delivering } from './suite/delivering.ts';
import { failing } from './suite/failing.ts';
import { pausing } from './suite/pausing.ts';
import { scenes } from './suite/scene.ts';
import { showing } from './suite/showing.ts';

/** Runs the suite on one sender. */
export function senderSuite(open: OpenWorld): void {
  const scene = scenes(open);
  delivering(scene);
  failing(scene);
  pausing(scene);
  showing(scene);
}
