/** Process record: the running processes of a cluster, in a file. `skiff down` ends them from it when no supervisor answers. */
import type { Log } from '../../components/component-base/log.ts'
import { identify } from '../state/process-identity.ts'
import type { ProcessIdentity } from '../state/process-identity.ts'
import { writePrivateFile } from '../state/state-dir.ts'
import type { ManagedComponent } from './managed-component.ts'

/** One entry of processes.json. */
export interface RecordedProcess extends ProcessIdentity {
  readonly component: string
}

/**
 * Returns a function that writes the processes of the given components to `file`, if they have changed since the last call. It
 * writes nothing once `ownsFolder` returns false, and logs a warning when it cannot write.
 */
export function createProcessRecord(
  file: string,
  options: { readonly ownsFolder: () => boolean; readonly log: Log },
): (components: Iterable<ManagedComponent>) => void {
  let recorded = ''
  // A run keeps its identity: a look can cost a process of its own.
  let known = new Map<string, ProcessIdentity>()
  return (components) => {
    const looked = new Map<string, ProcessIdentity>()
    const processes = [...components].flatMap((component): RecordedProcess[] => {
      const { name, pid, restarts } = component.status()
      if (pid === undefined) return []
      const run = `${name} ${restarts} ${pid}`
      const identity = known.get(run) ?? identify(pid)
      if (identity === undefined) return []
      looked.set(run, identity)
      return [{ component: name, ...identity }]
    })
    known = looked
    const text = JSON.stringify(processes)
    if (text === recorded || !options.ownsFolder()) return
    try {
      writePrivateFile(file, `${text}\n`)
      recorded = text
    } catch (error) {
      // A full disk, for example. The components keep running, and `skiff down` also finds them by their marker.
      options.log.warn('cannot record the processes', { error })
    }
  }
}
