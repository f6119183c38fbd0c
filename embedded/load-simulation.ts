/** loadSimulation: all that a cluster loads late, loaded now. */
import { loadLateModules } from '../components/api-server/start/late-modules.ts'

export async function loadSimulation(): Promise<void> {
  await Promise.all([loadLateModules(), import('../cluster/lab/lost-lease.ts')])
}
