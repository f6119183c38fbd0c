/**
 * answer-state: GET /debug/state streams all that is stored as a saved cluster (`skiff save`, `skiff backup`). Members of
 * system:masters only: it holds every Secret, whatever the caller's other rights are.
 */
import { badRequest, methodNotAllowed } from '../../machinery/objects/status-error.ts'
import {
  SavedClusterError,
  savedForms,
  savedLines,
  savingFault,
} from '../../store/saved-cluster.ts'
import { privilegedGroup } from '../authz/union.ts'
import type { FormedAnswer } from '../codec/respond.ts'
import { attributesOf } from '../request/attributes.ts'
import { forbiddenError } from '../request/forbidden.ts'
import type { RequestContext, ResponseSink } from '../request/request.ts'
import { savedState, type SavedStateOptions } from './saved-state.ts'

async function send(chunks: AsyncIterable<Buffer>, sink: ResponseSink): Promise<void> {
  const write = async (chunk: Buffer): Promise<void> => {
    if (!sink.write(chunk)) await sink.drained()
  }
  try {
    for await (const chunk of chunks) await write(chunk)
  } catch (error) {
    if (!(error instanceof SavedClusterError)) throw error
    // The status is sent already: the reason is the last line.
    await write(savingFault(error.message))
  }
}

/**
 * `?form=without-secrets` leaves out the data of Secrets; `?form=backup` leaves out nothing. `fault`: why the cluster cannot be
 * saved at all; the caller gets it with 400.
 */
export async function answerState(
  context: RequestContext,
  options: Omit<SavedStateOptions, 'form'> & { readonly fault?: string | undefined },
): Promise<FormedAnswer> {
  const { http, info, user } = context
  if (http.method !== 'GET') throw methodNotAllowed()
  if (!user.groups.includes(privilegedGroup))
    throw forbiddenError(attributesOf(context), `it is for the group ${privilegedGroup}`)
  if (options.fault !== undefined) throw badRequest(`the cluster cannot be saved: ${options.fault}`)
  const asked = info.query.get('form') ?? 'whole'
  const form = savedForms.find((one) => one === asked)
  if (form === undefined)
    throw badRequest(`unknown form "${asked}": use one of ${savedForms.join(', ')}`)
  const { header, kvs } = await savedState({ ...options, form })
  return {
    status: 200,
    headers: { 'content-type': 'application/x-ndjson', 'cache-control': 'no-store' },
    body: (sink) => send(savedLines(header, kvs), sink),
    isFormed: true,
  }
}
