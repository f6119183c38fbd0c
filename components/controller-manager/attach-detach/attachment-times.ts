/** AttachmentTimes: how long drivers take to attach and detach volumes (upstream: operationexecutor, OperationCompleteHook). */
import type { Clock } from '../../component-base/clock.ts'
import type { VolumeMetrics } from '../volume-metrics.ts'

export type AttachmentOperation = 'volume_attach' | 'volume_detach'

export interface AttachmentTimes {
  /** The driver was asked. */
  begin(attachment: string, plugin: string, operation: AttachmentOperation): void
  /** It has done that, or failed; no-op for what was not begun. A failed one is tried again and begins anew. */
  end(attachment: string, operation: AttachmentOperation, status: 'success' | 'fail-unknown'): void
}

interface Begun {
  readonly plugin: string
  readonly operation: AttachmentOperation
  readonly startedMs: number
}

export function createAttachmentTimes(
  { operationSeconds }: Pick<VolumeMetrics, 'operationSeconds'>,
  clock: Clock,
): AttachmentTimes {
  const begun = new Map<string, Begun>()
  return {
    begin: (attachment, plugin, operation) =>
      void begun.set(attachment, { plugin, operation, startedMs: clock.elapsed() }),
    end: (attachment, operation, status) => {
      const one = begun.get(attachment)
      if (one?.operation !== operation) return
      const { plugin, startedMs } = one
      if (status === 'success') begun.delete(attachment)
      else begun.set(attachment, { ...one, startedMs: clock.elapsed() })
      operationSeconds
        .with(plugin, operation, status, 'false')
        .observe((clock.elapsed() - startedMs) / 1000)
    },
  }
}
