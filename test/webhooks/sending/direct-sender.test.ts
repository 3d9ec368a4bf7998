/** The direct sender does what every sender must do. */
import { directWorld } from '../../helpers/webhooks/sender-world.ts';
import { senderSuite } from './sender-suite.ts';

senderSuite(directWorld);
