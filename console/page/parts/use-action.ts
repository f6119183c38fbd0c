/** useAction: one request at a time for a button, and why the last one failed. */
import { useState } from 'preact/hooks'

export interface Action {
  readonly isRunning: boolean
  readonly fault: string | undefined
  run(): void
}

/** `then` runs after a success. */
export function useAction(send: () => Promise<void>, then: () => void = () => {}): Action {
  const [isRunning, setRunning] = useState(false)
  const [fault, setFault] = useState<string>()
  const attempt = async (): Promise<void> => {
    setRunning(true)
    setFault(undefined)
    try {
      await send()
      then()
    } catch (error) {
      setFault(error instanceof Error ? error.message : String(error))
    } finally {
      setRunning(false)
    }
  }
  return { isRunning, fault, run: () => void (isRunning || attempt()) }
}
