/** useSending: sends the request of an operation once at a time, and keeps why it failed. */
import { useState } from 'preact/hooks'
import { ApiError } from '../../../app/api.ts'
import { messageOf } from '../../../app/message-of.ts'
import type { WriteFault } from '../edit/fault-view.tsx'

export interface Sending {
  readonly isSending: boolean
  readonly fault: WriteFault | undefined
  /** `then` runs after a success. */
  run(send: () => Promise<unknown>, then: () => void): void
}

export function useSending(): Sending {
  const [isSending, setSending] = useState(false)
  const [fault, setFault] = useState<WriteFault>()
  const attempt = async (send: () => Promise<unknown>, then: () => void): Promise<void> => {
    setSending(true)
    setFault(undefined)
    try {
      await send()
      then()
    } catch (error) {
      const details = error instanceof ApiError ? { details: error.details } : {}
      setFault({ message: messageOf(error), ...details })
    } finally {
      setSending(false)
    }
  }
  return { isSending, fault, run: (send, then) => void (isSending || attempt(send, then)) }
}
