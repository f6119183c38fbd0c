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
  return (components) => {
    const processes = [...components].flatMap((component): RecordedProcess[] => {
      const { name, pid } = component.status()
      const identity = pid === undefined ? undefined : identify(pid)
      return identity === undefined ? [] : [{ component: name, ...identity }]
    })
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
