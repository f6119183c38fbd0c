/** Fills the channel of components from the supervisor of a cluster on this machine. */
import type { ControlClient } from '../../../cluster/control-client.ts'
import { aborted } from '../../../components/component-base/aborted.ts'
import type { ComponentRow } from '../../protocol/live.ts'
import type { LiveTable } from './table.ts'

/** Rejects with the supervisor's error, or when it has gone. `connect` opens a connection of its own, since a watch of it never ends. */
export async function followComponents(
  connect: () => Promise<ControlClient>,
  table: LiveTable<ComponentRow>,
  signal: AbortSignal,
): Promise<void> {
  const control = await connect()
  try {
    const readAll = async (): Promise<void> => {
      const { components } = await control.call('status', {})
      table.replace(components)
    }
    await readAll()
    const watch = control.call('watch', {}, (status) => {
      table.set(status)
      // No event says that a node was removed, which is stopped first. A connection that is lost ends the watch, too.
      if (status.state === 'stopped') readAll().catch(() => {})
    })
    await Promise.race([watch, aborted(signal), control.closed])
    if (!signal.aborted) throw new Error('the supervisor has gone')
  } finally {
    control.close()
  }
}
