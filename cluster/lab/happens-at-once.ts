import type { FaultSpec } from './fault-spec.ts'

/** Whether the fault is over as soon as it has happened. */
export function happensAtOnce(spec: FaultSpec): boolean {
  return (
    (spec.kind === 'process' && spec.fault.action === 'kill') ||
    (spec.kind === 'node' && spec.fault.is === 'rebooted')
  )
}
