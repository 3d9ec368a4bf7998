/** The page that a magic link opens, to sign in. It is shown without the frame of the other pages. */
import { createRoute } from '@tanstack/react-router';
import { LINK_PATH, LinkPage } from '../../shell/magic-link.tsx';
import { shellRoute } from '../../shell/route.tsx';

export const linkRoute = createRoute({ getParentRoute: () => shellRoute, path: LINK_PATH, component: LinkPage });
