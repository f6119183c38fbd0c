import type { FaultSpec } from './fault-spec.ts'

/** Whether the fault keeps requests or their answers back until the cluster's time goes on. */
export function keepsBack(spec: FaultSpec): boolean {
  switch (spec.kind) {
    case 'requests': {
      const { delayMs, bytesPerSecond, watch } = spec.fault.action
      return delayMs !== undefined || bytesPerSecond !== undefined || watch !== undefined
    }
    case 'store':
      return 'delayMs' in spec.fault
    case 'network':
      return true
    case 'process':
    case 'clock':
    case 'certificate':
    case 'node':
      return false
  }
}
