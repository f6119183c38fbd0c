/** pods/log: the log of a container, streamed from the agent of the pod's node (upstream: registry/core/pod LogLocation). */
import { FieldPath } from '../../machinery/field-path.ts'
import { badRequest, invalid, notFound, StatusError } from '../../machinery/status-error.ts'
import type { Answer, RequestContext } from '../request.ts'
import type { ResourceHandler } from './parts.ts'
import { forward, nodeTarget, type NodeAgentCredentials } from './proxy.ts'

interface Named {
  readonly name: string
}

export interface PodSpec {
  readonly nodeName?: string
  readonly containers?: readonly Named[]
  readonly initContainers?: readonly Named[]
  readonly ephemeralContainers?: readonly Named[]
}

/** An integer of the query as Go reads it; undefined when it is not given. */
function integerOf(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name)
  if (text === null || text === '') return undefined
  if (/^[+-]?\d{1,18}$/.test(text)) return Number(text)
  throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`)
}

/** Upstream's ValidatePodLogOptions. */
function checkOptions({ info }: RequestContext): void {
  const { query, name } = info
  const root = FieldPath.root()
  const tailLines = integerOf(query, 'tailLines')
  const limitBytes = integerOf(query, 'limitBytes')
  const sinceSeconds = integerOf(query, 'sinceSeconds')
  const sinceTime = query.get('sinceTime')
  if (tailLines !== undefined && tailLines < 0) {
    root.child('tailLines').invalid(tailLines, 'must be greater than or equal to 0')
  }
  if (limitBytes !== undefined && limitBytes < 1) {
    root.child('limitBytes').invalid(limitBytes, 'must be greater than 0')
  }
  if (sinceSeconds !== undefined && sinceTime) {
    root.forbidden('at most one of `sinceTime` or `sinceSeconds` may be specified')
  } else if (sinceSeconds !== undefined && sinceSeconds < 1) {
    root.child('sinceSeconds').invalid(sinceSeconds, 'must be greater than 0')
  }
  if (sinceTime && Number.isNaN(Date.parse(sinceTime))) {
    throw badRequest(`parsing time ${JSON.stringify(sinceTime)}: cannot be read`)
  }
  if (root.errors.length > 0) throw invalid({ group: '', kind: 'PodLogOptions' }, name, root.errors)
}

/** The container that is asked for, or the only main one (upstream: validateContainer). */
export function containerOf(context: RequestContext, spec: PodSpec): string {
  const { query, name: pod } = context.info
  const { containers = [], initContainers = [], ephemeralContainers = [] } = spec
  const all = [...initContainers, ...containers, ...ephemeralContainers].map(({ name }) => name)
  const asked = query.get('container') ?? ''
  if (asked === '') {
    const [only, ...others] = containers
    if (only !== undefined && others.length === 0) return only.name
    throw badRequest(
      `a container name must be specified for pod ${pod}, choose one of: [${all.join(' ')}]`,
    )
  }
  if (all.includes(asked)) return asked
  throw badRequest(`container ${asked} is not valid for pod ${pod}`)
}

/** The most of an agent's refusal that is passed on (upstream: maxReadLength of the response checker). */
const mostRefusalBytes = 50_000

/** What an agent refuses is an error of ours, with its words. */
async function refusal(answer: Answer): Promise<StatusError> {
  const chunks: Buffer[] = []
  let size = 0
  const enough = new AbortController()
  const write = (chunk: Buffer): boolean => {
    chunks.push(chunk)
    size += chunk.length
    if (size >= mostRefusalBytes) enough.abort()
    return true
  }
  if (Buffer.isBuffer(answer.body)) write(answer.body)
  else {
    await answer.body({ write, drained: async () => {}, buffered: 0, signal: enough.signal })
  }
  const text = Buffer.concat(chunks).subarray(0, mostRefusalBytes).toString()
  if (answer.status === 400) return badRequest(text)
  const reason = answer.status === 404 ? 'NotFound' : 'InternalError'
  return new StatusError(reason, text, { code: answer.status, details: {} })
}

export function createPodLog(credentials: NodeAgentCredentials): ResourceHandler {
  return async (context, resource, parts) => {
    const { namespace, name } = context.info
    checkOptions(context)
    const pod = parts.cache.get(resource, namespace, name)
    if (pod === undefined) throw notFound(resource, name)
    const spec = pod['spec'] as PodSpec
    const container = containerOf(context, spec)
    if (!spec.nodeName) {
      // An unscheduled Pod has no log yet, which upstream shows as an empty one.
      return { status: 200, headers: { 'content-type': 'text/plain' }, body: Buffer.alloc(0) }
    }
    const question = context.http.url.indexOf('?')
    const query = question < 0 ? '' : context.http.url.slice(question)
    const path = `/containerLogs/${namespace}/${name}/${container}${query}`
    const target = { scheme: 'https' as const, ...nodeTarget(parts, spec.nodeName), path }
    const answer = await forward(context, target, credentials)
    if (answer.status >= 400) throw await refusal(answer)
    return answer
  }
}
