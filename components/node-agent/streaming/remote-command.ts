/** Remote command: runs an exec or attach on its channels, and says how it ended in the words clients know (upstream: remotecommand). */
import type { ContainerRuntime } from '../runtime/container-runtime.ts'
import { RuntimeFault } from '../runtime/container-runtime.ts'
import type { Channels, CommandStatus } from './channels.ts'

const success: CommandStatus = { metadata: {}, status: 'Success' }

function exitStatus(exitCode: number): CommandStatus {
  if (exitCode === 0) return success
  return {
    metadata: {},
    status: 'Failure',
    message: `command terminated with non-zero exit code: exit status ${exitCode}`,
    reason: 'NonZeroExitCode',
    details: { causes: [{ reason: 'ExitCode', message: String(exitCode) }] },
  }
}

function failure(what: string, error: unknown): CommandStatus {
  const message = `${what}: ${error instanceof Error ? error.message : String(error)}`
  return {
    metadata: {},
    status: 'Failure',
    message: `Internal error occurred: ${message}`,
    reason: 'InternalError',
    details: { causes: [{ message }] },
    code: 500,
  }
}

/** Runs it to its end, or until the client is gone; never rejects. */
export async function runRemoteCommand(
  runtime: ContainerRuntime,
  work: {
    readonly containerId: string
    /** Undefined: attach to what the container writes. */
    readonly command: readonly string[] | undefined
    readonly isTerminal: boolean
  },
  channels: Channels,
): Promise<void> {
  const { stdin, stdout, stderr, signal } = channels
  const streams = { stdin, stdout, stderr, isTerminal: work.isTerminal, signal }
  let status: CommandStatus
  try {
    if (work.command === undefined) {
      await runtime.attach(work.containerId, streams)
      status = success
    } else status = exitStatus(await runtime.exec(work.containerId, work.command, streams))
  } catch (error) {
    const what =
      work.command === undefined
        ? 'error attaching to container'
        : 'error executing command in container'
    status = failure(what, error instanceof RuntimeFault ? new Error(error.message) : error)
  }
  await channels.finish(status)
}
