/** ActionButton: a button that sends one request, and what failed. Disabled while the page shows the past. */
import { at } from '../app/time.ts'
import { useAction } from './use-action.ts'

export interface ActionButtonProps {
  readonly label: string
  readonly send: () => Promise<void>
  /** After a success. */
  readonly onDone?: () => void
  readonly isMain?: boolean
}

export function ActionButton({ label, send, onDone, isMain = false }: ActionButtonProps) {
  const { isRunning, fault, run } = useAction(send, onDone)
  return (
    <>
      <p>
        <button
          type="button"
          class={isMain ? 'main-action' : undefined}
          disabled={isRunning || at.value !== undefined}
          onClick={run}
        >
          {label}
        </button>
      </p>
      {fault !== undefined && (
        <p class="fault tone-bad" role="alert">
          {fault}
        </p>
      )}
    </>
  )
}
