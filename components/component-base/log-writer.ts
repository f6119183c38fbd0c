/** LogWriter: writes the lines of a log to a stream and knows whether they get there, for the check `log` of a server's health. */
import type { Writable } from 'node:stream'
import type { Clock } from './clock.ts'

/** Longer than this no line takes, unless the stream is blocked (upstream: LogHealthz, pkg/server/healthz). */
const blockedMs = 2 * 60_000

export interface LogWriter {
  write(line: string): void
  /** Why the newest lines are not written; undefined when they are. Tries again with the newest that was lost. */
  fault(): string | undefined
}

export function createLogWriter(stream: Pick<Writable, 'write'>, clock: Clock): LogWriter {
  let failure: { readonly error: Error; readonly line: string } | undefined
  /** When the oldest lines that are under way were handed over. */
  const sentAtMs: number[] = []

  const write = (line: string): void => {
    sentAtMs.push(clock.now())
    stream.write(line, (error) => {
      sentAtMs.shift()
      // Lines that find no room are lost, and the process goes on.
      failure = error ? { error, line } : undefined
    })
  }
  return {
    write,
    fault: () => {
      if (clock.now() - (sentAtMs[0] ?? Infinity) > blockedMs) return 'logging blocked'
      if (failure === undefined) return undefined
      const { error, line } = failure
      write(line)
      return `logging blocked: ${error.message}`
    },
  }
}
