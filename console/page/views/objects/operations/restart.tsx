/** Restart: has a workload replace its pods, as `kubectl rollout restart`. */
import { labelKey, dialects } from '../../../../../components/api/dialect.ts'
import { clusterNow } from '../../../app/cluster-time.ts'
import { send } from '../../../app/api.ts'
import { info } from '../../../app/live.ts'
import { OperationFrame } from './operation-frame.tsx'
import type { OperationProps } from './operation-props.ts'
import { restartObstacle, restartPatch } from './operations.ts'
import { useSending } from './use-sending.ts'

export function Restart({ object, path, onLeave }: OperationProps) {
  const sending = useSending()
  const obstacle = restartObstacle(object)
  const restart = (): void => {
    const dialect = dialects[info.value?.dialect ?? 'kubernetes']
    const annotation = labelKey(dialect, 'kubectl', 'restartedAt')
    sending.run(
      () =>
        send(path, {
          method: 'PATCH',
          contentType: 'application/merge-patch+json',
          body: restartPatch(annotation, clusterNow()),
        }),
      onLeave,
    )
  }
  return (
    <OperationFrame
      title={`Restart ${object.kind} ${object.metadata.name}`}
      label="Restart"
      isDisabled={sending.isSending || obstacle !== undefined}
      fault={obstacle === undefined ? sending.fault : { message: obstacle }}
      onConfirm={restart}
      onLeave={onLeave}
    >
      <p>Its pods are replaced, step by step as its update strategy says.</p>
    </OperationFrame>
  )
}
