/** The page that a setup link opens. It is shown without the frame of the other pages. */
import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { SETUP_PATH, shellRoute } from '../../shell/route.tsx';
import { STEPS, type Step } from './steps.ts';

interface SetupSearch {
  /** The open step, so that back and a reload work. */
  readonly step?: Step;
}

export const setupRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: SETUP_PATH,
  validateSearch: (search: Record<string, unknown>): SetupSearch => {
    const step = STEPS.find(({ id }) => id === search['step'])?.id;
    return step === undefined ? {} : { step };
  },
  component: lazyRouteComponent(() => import('./page.tsx'), 'SetupPage'),
});
