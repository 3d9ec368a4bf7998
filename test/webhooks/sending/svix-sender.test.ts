/** The Svix sender does what every sender must do. */
import { SVIX_TRAITS, svixWorld } from '../../helpers/webhooks/svix-world.ts';
import { senderSuite } from './sender-suite.ts';

senderSuite(svixWorld, SVIX_TRAITS);
