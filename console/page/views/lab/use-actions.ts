/** useActions: sends actions to the supervisor, one at a time for each component, and keeps what failed. */
import { useState } from 'preact/hooks'
import type { ComponentAction } from '../../../protocol/lab.ts'
import { sendTo } from '../../app/api.ts'
import { messageOf } from '../../app/message-of.ts'

export interface Actions {
  /** Components whose action is under way. */
  readonly busy: ReadonlySet<string>
  /** The last failure, in the supervisor's words. */
  readonly fault: string | undefined
  act(component: string, action: ComponentAction): Promise<void>
}

export function useActions(): Actions {
  const [busy, setBusy] = useState<ReadonlySet<string>>(new Set())
  const [fault, setFault] = useState<string>()
  return {
    busy,
    fault,
    act: async (component, action) => {
      setBusy((before) => new Set([...before, component]))
      setFault(undefined)
      try {
        await sendTo(`/lab/components/${encodeURIComponent(component)}/${action}`, {
          method: 'POST',
        })
      } catch (error) {
        const text = messageOf(error)
        setFault(`${action} ${component}: ${text}`)
      } finally {
        setBusy((before) => new Set([...before].filter((one) => one !== component)))
      }
    },
  }
}
