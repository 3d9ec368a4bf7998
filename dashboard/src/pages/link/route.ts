/** The page that the link of a letter opens, to sign in. It is shown without the frame of the other pages. */
import { createRoute } from '@tanstack/react-router';
import { LINK_PATH, LinkPage } from '../../shell/by-letter.tsx';
import { shellRoute } from '../../shell/route.tsx';

export const linkRoute = createRoute({ getParentRoute: () => shellRoute, path: LINK_PATH, component: LinkPage });
