/** callLab: the clock and the faults of the cluster, for the page. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { connectControl } from '../../../cluster/control-client.ts'
import type { Lab } from '../../../cluster/lab/lab.ts'
import { processLab } from '../../../cluster/lab/process-lab.ts'
import { statePaths } from '../../../cluster/state/state-dir.ts'
import {
  methodNotAllowed,
  StatusError,
} from '../../../components/machinery/objects/status-error.ts'
import { bodyOf } from '../request-body.ts'
import { addFault, faultRow } from './fault-calls.ts'
import { callTime } from './time-calls.ts'

/** A fault with all its lists full. */
const mostBodyBytes = 256 * 1024

async function jsonOf(request: IncomingMessage): Promise<unknown> {
  const body = await bodyOf(request, mostBodyBytes)
  try {
    return JSON.parse(body.toString())
  } catch (error) {
    throw new StatusError('BadRequest', 'the body is not JSON', { cause: error })
  }
}

async function call(
  { time, faults }: Lab,
  { method, parts, body }: { method: string | undefined; parts: readonly string[]; body: unknown },
): Promise<unknown> {
  const [what, name] = parts
  if (what === 'time' && method === 'POST') return await callTime(time, body)
  if (what === 'faults' && method === 'POST') return await addFault(faults, body)
  if (what === 'faults' && method === 'DELETE') return (await faults.heal(name)).map(faultRow)
  throw methodNotAllowed()
}

/** What the page no longer waits for is stopped. `parts` are those of the path, from `time` or `faults` on. Rejects with StatusErrors and ClusterErrors. */
export async function callLab(
  { name, stateRoot }: { readonly name: string; readonly stateRoot: string },
  { request, response, parts }: LabRequest,
): Promise<unknown> {
  const { method } = request
  const body = method === 'POST' ? await jsonOf(request) : undefined
  const control = await connectControl(statePaths(stateRoot, name))
  response.on('close', () => control.close())
  try {
    return await call(processLab(control), { method, parts, body })
  } finally {
    control.close()
  }
}

interface LabRequest {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly parts: readonly string[]
}
