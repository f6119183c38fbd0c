/** Simulated exec: connects a client's streams to the simulated shell of a container. */
import type { Writable } from 'node:stream'
import type { Pod } from '../../api/generated/types.ts'
import type { Clock } from '../../component-base/clock.ts'
import type { CommandStreams } from './container-runtime.ts'
import { runSimulated } from './simulated-shell.ts'
import { lineInput, withCarriageReturns } from './simulated-terminal.ts'

/** The environment variables of a container's command. */
export function environmentOf(
  pod: Pod,
  variables: Readonly<Record<string, string>>,
): Record<string, string> {
  return {
    PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    HOSTNAME: hostnameOf(pod),
    HOME: '/root',
    ...variables,
  }
}

/** The pod's host name. */
export function hostnameOf(pod: Pod): string {
  return pod.spec?.hostname ?? pod.metadata.name ?? ''
}

/** Resolves when the stream drains or closes. */
export async function drained(stream: Writable): Promise<void> {
  if (stream.destroyed || !stream.writableNeedDrain) return
  await new Promise<void>((resolve) => {
    const go = (): void => {
      stream.off('drain', go).off('close', go)
      resolve()
    }
    stream.once('drain', go).once('close', go)
  })
}

async function write(stream: Writable | undefined, data: string | Buffer): Promise<void> {
  if (stream === undefined || stream.destroyed || stream.writableEnded) return
  if (data.length > 0 && !stream.write(data)) await drained(stream)
}

/** Runs a command. Resolves with its exit code. `ended` aborts when the container ends. */
export async function execSimulated(
  command: readonly string[],
  more: {
    readonly pod: Pod
    /** The container's environment variables from the node. */
    readonly variables: Readonly<Record<string, string>>
    readonly streams: CommandStreams
    readonly ended: AbortSignal
    readonly clock: Clock
  },
): Promise<number> {
  const { pod, variables, streams, ended, clock } = more
  const { stdin, stdout, isTerminal } = streams
  const interrupt = new AbortController()
  const signal = AbortSignal.any([streams.signal, ended, interrupt.signal])
  const shown = (text: string | Buffer): string | Buffer =>
    isTerminal ? withCarriageReturns(text) : text
  const input =
    isTerminal && stdin !== undefined
      ? lineInput(stdin, {
          echo: (text) => void write(stdout, text),
          onInterrupt: () => interrupt.abort(new Error('interrupted')),
        })
      : stdin
  // The time limit also applies to a command that waits for input.
  signal.addEventListener('abort', () => input?.destroy(), { once: true })
  const err = async (text: string): Promise<void> =>
    await write(isTerminal ? stdout : streams.stderr, shown(text))
  const code = await runSimulated(command, {
    environment: environmentOf(pod, variables),
    hostname: hostnameOf(pod),
    stdin: () => input,
    out: async (text) => await write(stdout, shown(text)),
    err,
    trace: err,
    isTerminal,
    clock,
    signal,
  })
  // 128 + SIGINT: the command was interrupted by Ctrl-C.
  return interrupt.signal.aborted && !ended.aborted ? 130 : code
}
