/** Log: JSON lines with bound fields, one object a line, on stderr or wherever the sink writes. Never give it a secret. */
import type { Clock } from './clock.ts'

export type LogLevel = 'debug' | 'info' | 'warn' | 'error'
export type LogFields = Readonly<Record<string, unknown>>

export interface Log {
  debug(message: string, fields?: LogFields): void
  info(message: string, fields?: LogFields): void
  warn(message: string, fields?: LogFields): void
  /** An `error` field that is an Error is written with its stack and causes. */
  error(message: string, fields?: LogFields): void
  /** The same log with more fields on every line. */
  with(fields: LogFields): Log
}

const ranks: Record<LogLevel, number> = { debug: 0, info: 1, warn: 2, error: 3 }

function plain(value: unknown): unknown {
  if (!(value instanceof Error)) return value
  const cause = value.cause === undefined ? {} : { cause: plain(value.cause) }
  return { name: value.name, message: value.message, stack: value.stack, ...cause }
}

/** A log that hands finished lines (newline included) to `write`. Lines below `level` cost nothing but the call. */
export function createLog(options: {
  clock: Clock
  level?: LogLevel
  fields?: LogFields
  write?: (line: string) => void
}): Log {
  const { clock, level = 'info', fields = {} } = options
  const write = options.write ?? ((line: string) => void process.stderr.write(line))
  const emit = (lineLevel: LogLevel, message: string, more: LogFields = {}): void => {
    if (ranks[lineLevel] < ranks[level]) return
    const line: Record<string, unknown> = {
      time: new Date(clock.now()).toISOString(),
      level: lineLevel,
      message,
      ...fields,
    }
    for (const [name, value] of Object.entries(more)) line[name] = plain(value)
    write(`${JSON.stringify(line)}\n`)
  }
  return {
    debug: (message, more) => emit('debug', message, more),
    info: (message, more) => emit('info', message, more),
    warn: (message, more) => emit('warn', message, more),
    error: (message, more) => emit('error', message, more),
    with: (more) => createLog({ ...options, fields: { ...fields, ...more } }),
  }
}

/** A log that writes nowhere, for tests and tools. */
export const silentLog: Log = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
  with: () => silentLog,
}

/** The first line of an error and of its causes: what a user needs to see. */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const line = firstLineOf(error)
  return error.cause instanceof Error && !line.includes(firstLineOf(error.cause))
    ? `${line}: ${messageOf(error.cause)}`
    : line
}

function firstLineOf({ message }: Error): string {
  return message.split('\n')[0] ?? ''
}
