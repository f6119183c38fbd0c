/** AuditSink: writes records. Records that arrive during a write go out together with the next one. */
import type { Log } from '../../component-base/log.ts'
import type { AuditOutput } from './log-file.ts'

export const auditModes = ['batch', 'blocking', 'blocking-strict'] as const
export type AuditMode = (typeof auditModes)[number]

export interface AuditSink {
  /**
   * Takes a record. In mode `batch` it resolves at once, else when the record is written. Rejects when that fails in mode
   * `blocking-strict`; in the others a loss is logged.
   */
  write(line: string): Promise<void> | undefined
  /** Resolves when everything is written. */
  close(): Promise<void>
}

/** The most pending records in mode `batch` (upstream's buffer). */
const mostQueued = 10_000

/** Several sinks for the same records. */
export function joinedSinks(sinks: readonly AuditSink[]): AuditSink {
  const [only, ...others] = sinks
  if (only !== undefined && others.length === 0) return only
  return {
    write: (line) => {
      const waits = sinks.flatMap((sink) => sink.write(line) ?? [])
      return waits.length === 0 ? undefined : Promise.all(waits).then(() => {})
    },
    close: async () => {
      await Promise.all(sinks.map((sink) => sink.close()))
    },
  }
}

export function createAuditSink(options: {
  output: AuditOutput
  mode: AuditMode
  log: Log
}): AuditSink {
  const { output, mode, log } = options
  let queue: string[] = []
  let isFull = false
  let isFailing = false
  let under: Promise<void> | undefined
  let next: Promise<void> | undefined

  const flush = async (): Promise<void> => {
    const lines = queue
    queue = []
    next = undefined
    isFull = false
    try {
      await output.write(lines)
      isFailing = false
    } catch (error) {
      // Logged once per outage: a full disk would fill the log as well.
      if (!isFailing) log.error('audit records are lost', { error: String(error) })
      isFailing = true
      if (mode === 'blocking-strict') throw error
    }
  }
  const push = (line: string): Promise<void> => {
    queue.push(line)
    if (next !== undefined) return next
    const before = under ?? Promise.resolve()
    const flushing = before.catch(() => {}).then(flush)
    next = flushing
    under = flushing
    flushing.catch(() => {}) // the callers that await it get the error
    return flushing
  }
  return {
    write: (line) => {
      if (mode === 'batch' && queue.length >= mostQueued) {
        if (!isFull) log.error('audit records are lost: too many wait to be written', {})
        isFull = true
        return undefined
      }
      const written = push(line)
      return mode === 'batch' ? undefined : written
    },
    close: async () => {
      output.hurry?.()
      await under?.catch(() => {})
      await output.close()
    },
  }
}
