/** Processor time, as Linux counts it (proc(5)); 0 on other systems. */
import { readFileSync } from 'node:fs';

/** The unit of proc(5), which is the same on all systems of Linux. */
const TICKS_A_SECOND = 100;

/** The processor time of this process, and of the child processes that have ended and were waited for, in seconds. */
export function processorSeconds(): { readonly own: number; readonly ofChildren: number } {
  try {
    const stat = readFileSync('/proc/self/stat', 'utf8');
    const [user = 0, system = 0, childUser = 0, childSystem = 0] = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .slice(11, 15)
      .map(Number);
    return { own: (user + system) / TICKS_A_SECOND, ofChildren: (childUser + childSystem) / TICKS_A_SECOND };
  } catch {
    return { own: 0, ofChildren: 0 };
  }
}
