/** Uncordon: lets the scheduler bind pods to the node again. */
import { setUnschedulable } from './drain-node.ts'
import { OperationFrame } from './operation-frame.tsx'
import type { OperationProps } from './operation-props.ts'
import { useSending } from './use-sending.ts'

export function Uncordon({ object, path, onLeave }: OperationProps) {
  const sending = useSending()
  return (
    <OperationFrame
      title={`Uncordon ${object.metadata.name}`}
      label="Uncordon"
      isDisabled={sending.isSending}
      fault={sending.fault}
      onConfirm={() => sending.run(() => setUnschedulable(path, false), onLeave)}
      onLeave={onLeave}
    >
      <p>The scheduler may bind pods to the node again.</p>
    </OperationFrame>
  )
}
