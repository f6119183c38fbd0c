/** OperationFrame: what an operation does, its buttons, and what failed. */
import type { ComponentChildren } from 'preact'
import { FaultView, type WriteFault } from '../edit/fault-view.tsx'

export interface OperationFrameProps {
  readonly title: string
  readonly label: string
  readonly isDisabled: boolean
  readonly fault: WriteFault | undefined
  readonly onConfirm: () => void
  readonly onLeave: () => void
  readonly children: ComponentChildren
}

export function OperationFrame(props: OperationFrameProps) {
  const { title, label, isDisabled, fault, onConfirm, onLeave, children } = props
  return (
    <section class="operation" aria-label={title}>
      <h2>{title}</h2>
      {children}
      {fault !== undefined && <FaultView fault={fault} />}
      <p class="actions">
        <button type="button" class="main-action" disabled={isDisabled} onClick={onConfirm}>
          {label}
        </button>
        <button type="button" onClick={onLeave}>
          Cancel
        </button>
      </p>
    </section>
  )
}
