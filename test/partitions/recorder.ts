/** Recorder: asks API servers for ConfigMaps, and keeps what it asked and was answered. */
import type { Reply } from '../support/api-client.ts'
import type { WatchRecord } from '../histories/history.ts'
import type { ListOperation, Operation, Outcome, Request } from '../histories/operation.ts'

export const namespace = 'histories'
export const collectionPath = `/api/v1/namespaces/${namespace}/configmaps`

export interface StoredObject {
  readonly key: string
  readonly revision: number
  readonly value: string
}

// oxlint-disable-next-line typescript/no-explicit-any -- an answer's JSON
export function objectIn(body: any): StoredObject {
  return {
    key: String(body.metadata.name),
    revision: Number(body.metadata.resourceVersion),
    value: String(body.data?.value),
  }
}

export class Recorder {
  readonly operations: Operation[] = []
  readonly lists: ListOperation[] = []
  readonly watches: WatchRecord[] = []
  /** Answers that no fault explains. */
  readonly oddities: string[] = []
  /** Why the last request was not answered, or was refused. */
  lastFailure = ''

  /** Keeps what became of a request. */
  async record(
    asked: Pick<Operation, 'client' | 'server' | 'key' | 'request'>,
    send: () => Promise<Reply>,
  ): Promise<Outcome> {
    const callMs = performance.now()
    const outcome = await send().then(
      (reply) => this.#outcomeOf(asked.request, reply),
      (error: unknown): Outcome => {
        this.lastFailure = String(error)
        return { result: 'unknown' }
      },
    )
    const id = this.operations.length + 1
    this.operations.push({ id, ...asked, callMs, returnMs: performance.now(), outcome })
    return outcome
  }

  #outcomeOf(request: Request, { status, body, text }: Reply): Outcome {
    if (status === 200 || status === 201) {
      if (request.verb === 'delete') return { result: 'deleted' }
      const { revision, value } = objectIn(body)
      return request.verb === 'get'
        ? { result: 'found', revision, value }
        : { result: 'written', revision }
    }
    if (status === 404 && request.verb !== 'create') return { result: 'absent' }
    if (status === 409) return { result: request.verb === 'create' ? 'exists' : 'conflict' }
    this.lastFailure = `${status} ${text}`
    if (status === 429) return { result: 'refused' }
    if (status > 0 && status < 500) this.oddities.push(`${request.verb} got ${status}: ${text}`)
    return { result: 'unknown' }
  }
}

/** The method, path and body of a request. */
export function callOf(
  key: string,
  request: Request,
): { method: string; path: string; body?: unknown; headers?: Record<string, string> } {
  const path = `${collectionPath}/${key}`
  const expected = 'expected' in request ? request.expected : undefined
  const resourceVersion = expected === undefined ? {} : { resourceVersion: String(expected) }
  switch (request.verb) {
    case 'get':
      return { method: 'GET', path: request.isCached === true ? `${path}?resourceVersion=0` : path }
    case 'delete':
      return { method: 'DELETE', path, body: { preconditions: resourceVersion } }
    case 'patch': {
      const body = { metadata: resourceVersion, data: { value: request.value } }
      const headers = { 'content-type': 'application/merge-patch+json' }
      return { method: 'PATCH', path, body, headers }
    }
    case 'create':
    case 'update': {
      const metadata = { name: key, namespace, ...resourceVersion }
      const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { value: request.value } }
      return request.verb === 'create'
        ? { method: 'POST', path: collectionPath, body }
        : { method: 'PUT', path, body }
    }
  }
}
